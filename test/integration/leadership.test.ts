import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { isUnused, LeadershipStage, put, WRITTEN } from "./leadership-stage.ts";

let stage: LeadershipStage;

beforeAll(async () => {
  stage = await LeadershipStage.open();
});
afterEach(() => stage.stopAll());
afterAll(() => stage.close());

describe("two replicas of the aggregator", () => {
  it("the one that leads is the only one that writes, acknowledges and is found by the Service", async () => {
    const [leader, standby] = await stage.pair("roles");
    await stage.cluster.createClaims(["roles"]);
    await stage.cluster.claimThat("roles", "known", isUnused);

    const [refused, accepted] = [await put(standby), await put(leader)];
    const list = await standby.get("/v1/claims");

    expect(refused.status).toBe(503);
    expect(refused.headers.get("connection")).toBe("close");
    expect(await refused.text()).toBe("not the leader\n");
    expect(accepted.status).toBe(200);
    expect(list).toEqual({ status: 503, text: "not the leader\n" });
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([leader.pod]));
    expect([
      await standby.metric(WRITTEN),
      await standby.metric('leader_election_master_status{name="mooring-aggregator"}'),
    ]).toEqual([0, 0]);
    expect(await leader.metric(WRITTEN)).toBeGreaterThan(0);
  });

  it("a standby is as ready as the leader, and both show who leads and since when", async () => {
    const [leader, standby] = await stage.pair("health");
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([leader.pod]));

    const [own, other] = await Promise.all([leader.get("/readyz?verbose"), standby.get("/healthz?verbose")]);

    expect(own).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^\[\+\]leader ok: this one leads since 20/m),
    });
    expect(other.status).toBe(200);
    expect(other.text).toMatch(/^\[\+\]leader ok: health-a_[-0-9a-f]+ leads since 20.*\.\d{6}Z$/m);
  });

  it("a clean stop hands over within 3 s, and breaks no chain of watches", async () => {
    const { coverage: predecessors } = await stage.replicas.lease();
    const [leader, standby] = await stage.pair("stop");
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([leader.pod]));
    // That of the one before stays until there is one of its own.
    const isOwn = async (): Promise<void> =>
      expect([undefined, predecessors]).not.toContain((await stage.replicas.lease()).coverage);
    await stage.until("a word", 10_000, isOwn);
    const before = JSON.parse((await stage.replicas.lease()).coverage ?? "");

    const stopping = leader.child.stop();
    const tookMs = await stage.takenOver(standby, 10_000);
    await stopping;

    expect(tookMs).toBeLessThan(3_000);
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([standby.pod]));
    await stage.until("the word of the next", 10_000, async () => {
      const after = JSON.parse((await stage.replicas.lease()).coverage ?? "");
      expect(BigInt(after.reached)).toBeGreaterThanOrEqual(BigInt(before.reached));
      expect(after).toMatchObject({ since: before.since });
    });
  });

  it("a clean stop hands over the pods' last change to a successor that starts later, and leaves the label to it", async () => {
    const leader = await stage.leader("alone");
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([leader.pod]));

    await leader.child.stop();

    expect(await stage.replicas.labelled()).toEqual([leader.pod]);
    const { reached } = JSON.parse((await stage.replicas.lease()).coverage ?? "");
    expect(BigInt(reached)).toBeGreaterThanOrEqual(BigInt(await stage.replicas.podVersion(leader.pod)));
  });
});
