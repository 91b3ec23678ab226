import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject, ObjectRef } from "../../simulation/engine/api/objects.ts";
import { closeHouses, House } from "../house.ts";
import { podRef } from "../objects.ts";
import { startLeader, startReplica, untilLeading } from "./replica.ts";

afterEach(closeHouses);

const OWN = "aggregator-0";
const UNKNOWN = "[-]leader failed: this one leads, but the Service does not know";
const LABEL_LOST = "own pod could not be labelled as the leader's";

function label(house: House, name: string, role: string | null): void {
  const labels: JsonObject = role === null ? {} : { "mooring.dev/role": role };
  const ref: ObjectRef = podRef(name, "mooring");
  house.api.update(ref, (pod) => ({ ...pod, metadata: { ...pod.metadata, labels } }));
}

function labelledPods(house: House): readonly string[] {
  const pods = house.api.list("pods").filter(({ metadata }) => metadata.labels?.["mooring.dev/role"] === "leader");
  return pods.map(({ metadata }) => metadata.name);
}

/** A house with the pod of another replica. */
function houseWithOther(role: string | null): House {
  const house = new House();
  house.create("pods", { metadata: { name: "other", namespace: "mooring" }, spec: {}, status: { phase: "Running" } });
  label(house, "other", role);
  return house;
}

describe("the label of the leader", () => {
  it.each([
    { name: "no pod had it", role: null },
    { name: "a leader that was killed has it still", role: "leader" },
  ])(
    "is on the leader's pod alone where $name, and again half a minute after another client moves it",
    async ({ role }) => {
      const house = houseWithOther(role);
      await startLeader(house);
      await house.pass(1_000);
      const first = labelledPods(house);

      label(house, OWN, null);
      label(house, "other", "leader");
      await house.pass(37_000);

      expect([first, labelledPods(house)]).toEqual([[OWN], [OWN]]);
    },
  );

  it("is not written again where the pod has it", async () => {
    const house = houseWithOther(null);
    await startLeader(house);
    await house.pass(1_000);
    const sites: string[] = [];
    house.setFaults(({ site }) => {
      sites.push(site);
      return {};
    });

    await house.pass(90_000);

    expect(sites).toContain("list pods");
    expect(sites).not.toContain("patch pods");
  });

  it("is put on again when the pod is made again", async () => {
    const house = houseWithOther(null);
    const leader = await startLeader(house);
    house.api.delete(podRef(OWN, "mooring"));
    await house.pass(37_000);
    const missing = await leader.readiness();

    house.create("pods", { metadata: { name: OWN, namespace: "mooring" }, spec: {}, status: { phase: "Running" } });
    await house.pass(11_000);

    expect(missing).toContain(`${UNKNOWN}: there is no pod mooring/${OWN}`);
    expect(labelledPods(house)).toEqual([OWN]);
  });

  it("stays on a replica that no longer leads, until the next leader takes it", async () => {
    const house = houseWithOther(null);
    const first = await startLeader(house);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);

    await first.stop();
    const left = labelledPods(house);
    await untilLeading(house, second);
    await house.pass(1_000);

    expect([left, labelledPods(house)]).toEqual([[OWN], ["aggregator-1"]]);
  });

  it.each([
    { name: "the API server fails", site: "patch pods", status: 500 },
    { name: "the right to patch pods is missing", site: "patch pods", status: 403 },
    { name: "a webhook refuses it", site: "patch pods", status: 422 },
    { name: "the right to list pods of the namespace is missing", site: "list pods", status: 403 },
  ] as const)(
    "is missing while $name, which readiness and the log say, and is put on afterwards",
    async ({ site, status }) => {
      const house = houseWithOther(null);
      const leader = await startLeader(house);
      await house.pass(1_000);
      house.setFaults((call) => (call.site === site ? { refusal: { status } } : {}));
      label(house, OWN, null);
      await house.pass(37_000);
      const [before, missing] = [labelledPods(house), await leader.readiness()];

      house.refuse();
      await house.pass(11_000);

      expect([before, labelledPods(house)]).toEqual([[], [OWN]]);
      expect(missing).toContain(UNKNOWN);
      expect(leader.logger.messages("warn")).toEqual([LABEL_LOST]);
      expect(await leader.readiness()).not.toContain(UNKNOWN);
    },
  );

  it("is not put on by a replica that was paused while another one took the lead", async () => {
    const house = houseWithOther(null);
    const first = await startLeader(house);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);
    first.process.pause();
    await untilLeading(house, second);
    await house.pass(60_000);

    first.process.resume();
    await house.pass(60_000);

    expect(labelledPods(house)).toEqual(["aggregator-1"]);
  });

  it("is not put on even for a moment by a replica that was paused right before its write", async () => {
    const house = houseWithOther(null);
    const first = await startLeader(house);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);
    let isAsking = false;
    house.setFaults(({ site, from, request }) => {
      if (site !== "list pods" || from !== OWN || !request.path.includes("fieldSelector")) return {};
      isAsking = true;
      return { answerMs: () => 100 };
    });
    label(house, OWN, null);
    await house.until(() => isAsking);
    first.process.pause();
    await untilLeading(house, second);
    const labelled: string[] = [];
    house.api.observe(({ object: { metadata } }) => {
      if (metadata.labels?.["mooring.dev/role"] === "leader") labelled.push(metadata.name);
    });

    first.process.resume();
    await house.pass(60_000);

    expect(isAsking).toBe(true);
    expect(labelled).not.toContain(OWN);
  });
});
