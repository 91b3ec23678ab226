import { House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod } from "../objects.ts";
import { type Replica, startLeader, statusIn } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

/** A house whose claim is in use, and all that is in it. */
export interface MountedClaim {
  readonly house: House;
  readonly leader: Replica;
  readonly n1: ScriptedNode;
  readonly n2: ScriptedNode;
}

/** Two nodes with agents. */
export function houseWithNodes(): House {
  const house = new House();
  for (const name of ["n1", "n2"]) {
    addNode(house, name);
    addAgentPod(house, name);
  }
  return house;
}

/** A claim that is mounted on n1 for the pod `web`, as its node has reported and the API server has stored. */
export async function mountedClaim(argv: readonly string[] = []): Promise<MountedClaim> {
  const house = houseWithNodes();
  addClaim(house);
  addPod(house, "web");
  const leader = await startLeader(house, { argv });
  const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
  n1.mount("web");
  await leader.send(n1.report());
  await leader.send(n2.report());
  await house.until(() => statusIn(house)?.reason === "Mounted");
  // The time before the leader is covered.
  await house.pass(3_000);
  for (const node of [n1, n2]) await leader.send(node.report());
  await house.pass(5_000);
  return { house, leader, n1, n2 };
}
