import { afterEach, describe, expect, it } from "vitest";
import { readList } from "../../rig/stand-in/listed.ts";
import { closeHouses } from "../house.ts";
import { addAgentPod, addKubelet, addNode, nodeRef, podRef, setReady } from "../objects.ts";
import { Scene } from "./scene.ts";

afterEach(closeHouses);

/** What happens, or the state in which the node is then; `-` where it is not listed. */
type Step = string | ((scene: Scene) => unknown);
type Script = readonly (readonly [atS: number, step: Step])[];

const isCutOff: Step = ({ house }) => setReady(house, "n1", { status: "Unknown" });
const kubeletComes: Step = ({ house }) => addKubelet(house, "n1");
const agentComes: Step = ({ house }) => addAgentPod(house, "n1");
const agentGoes: Step = ({ house }) => house.api.delete(podRef("agent-n1", "mooring-agents"));
const objectGoes: Step = ({ house }) => house.api.delete(nodeRef("n1"));
const objectComes: Step = ({ house }) => addNode(house, "n1");
const reports: Step = (scene) => scene.report();
const staysSilent: Step = () => {};
const showsMount: Step = async (scene) => {
  scene.node().mount("web");
  await scene.report();
};
/** Its agent reports for four minutes, but completes no scan any more. */
const repeatsItself: Step = async (scene) => {
  const { scan } = scene.node().report();
  for (let turn = 0; turn < 8; turn += 1) {
    await scene.pass(30);
    await scene.reportWith({ scan });
  }
};

async function stateOf({ leader }: Scene): Promise<string> {
  const { items } = readList((await leader.get("/v1/nodes")).body);
  return String(items.find(({ name }) => name === "n1")?.state ?? "-");
}

/** The states that the script checks. */
async function played(script: Script, scene = new Scene()): Promise<Script> {
  await scene.lead();
  const states: (readonly [atS: number, state: string])[] = [];
  for (const [atS, step] of script) {
    await scene.until(atS);
    if (typeof step === "string") states.push([atS, await stateOf(scene)]);
    else await step(scene);
  }
  return states;
}

const AWAY: Script = [[0, agentGoes]];
const ALONE: Script = [...AWAY, [0, kubeletComes]];

describe("a node", () => {
  it.each<readonly [name: string, script: Script]>(
    // biome-ignore format: a row is a line
    [
      ["without an agent, whose kubelet lives, is Stale, and NoAgent after ten minutes", [...ALONE, [85, "Reporting"], [95, "Stale"], [599, "Stale"], [615, "NoAgent"]]],
      ["is Stale until its kubelet lives", [...AWAY, [1, isCutOff], [719, "Stale"], [720, kubeletComes], [725, "NoAgent"]]],
      ["is checked as soon as an agent's pod comes", [...ALONE, [615, "NoAgent"], [620.5, agentComes], [620.6, "Stale"]]],
      ["is checked as soon as its object comes back", [[1, showsMount], [4, objectGoes], [399, "Gone"], [400.5, objectComes], [400.6, "Stale"]]],
      ["has to report again once an agent's pod comes", [...ALONE, [615, "NoAgent"], [620, agentComes], [625, "Stale"], [1_500, "Stale"]]],
      ["is NoAgent ten minutes after its agent leaves", [[0, kubeletComes], [300, reports], [390, agentGoes], [980, "Stale"], [1_000, "NoAgent"]]],
      ["whose object is made again gets the time of a new node", [...ALONE, [700, "NoAgent"], [701, objectGoes], [702, objectComes], [710, "Reporting"], [1_290, "Stale"], [1_325, "NoAgent"]]],
      ["that is Gone without a mount is forgotten soon", [[1, reports], [2, objectGoes], [3, agentGoes], [200, "Stale"], [310, "Gone"], [380, "-"]]],
      ["that is Gone with a mount is remembered for long", [[1, showsMount], [4, objectGoes], [5, agentGoes], [380, "Gone"], [7_200, "Gone"]]],
      ["that is Gone and comes back in the same boot is Stale until it reports", [[1, showsMount], [4, objectGoes], [400, objectComes], [410, "Stale"], [411, reports], [420, "Reporting"]]],
      ["whose agent reports without a complete scan is Stale after three minutes", [[1, reports], [2, repeatsItself], [243, "Stale"]]],
      ["keeps its state while its agent's pod is there, though it never reports", [[0, kubeletComes], [1, staysSilent], [3_600, "Stale"]]],
    ],
  )("%s", async (_, script) => {
    expect(await played(script)).toEqual(script.filter(([, step]) => typeof step === "string"));
  });

  it("without a place for an agent is NoAgent from the start, and no claim waits for it", async () => {
    const scene = new Scene({ nodes: [] });
    scene.join("n1", { "kubernetes.io/os": "windows" });
    await scene.lead();

    await scene.pass(5);

    expect([await stateOf(scene), scene.status()?.unused]).toEqual(["NoAgent", true]);
  });
});
