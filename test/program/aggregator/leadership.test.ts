import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addClaim } from "../objects.ts";
import { type Replica, startLeader, startReplica } from "./replica.ts";

afterEach(closeHouses);

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z`;

/** What `/readyz` says of the election. */
async function checkOf(replica: Replica): Promise<string | undefined> {
  const lines = (await replica.readiness()).split("\n");
  return lines.find((line) => line.includes("]leader "));
}

describe("the leader check", () => {
  it("passes on the leader and on a standby, and shows since when, as the metrics do", async () => {
    const house = new House();
    addClaim(house);
    const leader = await startLeader(house);
    const standby = startReplica(house, { name: "aggregator-1" });
    await house.pass(60_000);

    const checks = [await checkOf(leader), await checkOf(standby)];

    const since = `this one leads since ${TIME}, pods are watched without a gap since ${TIME}`;
    expect(checks[0]).toMatch(new RegExp(String.raw`^\[\+\]leader ok: ${since}$`));
    expect(checks[1]).toMatch(new RegExp(String.raw`^\[\+\]leader ok: aggregator-0_\S+ leads since ${TIME}$`));
    const status = await Promise.all([leader, standby].map((one) => one.metric("leader_election_master_status")));
    expect(status).toEqual([1, 0]);
    const watched = await Promise.all([leader, standby].map((one) => one.metric("mooring_pod_watch_history_seconds")));
    expect(watched).toEqual([expect.closeTo(60, -1), undefined]);
    const claims = await Promise.all([leader, standby].map((one) => one.metric("mooring_claims")));
    expect(claims).toEqual([1, undefined]);
    for (const one of [leader, standby]) expect(await one.metric("mooring_lease_renewal_age_seconds")).toBeLessThan(5);
  });

  it("fails on a leader whose pod has no label, as the Service does not find it", async () => {
    const house = new House();
    house.refuse((site) => site === "patch pods");

    const leader = await startLeader(house);
    await house.pass(1_000);

    expect(await checkOf(leader)).toMatch(/^\[-\]leader failed: this one leads, but the Service does not know: ./);
  });

  it("fails on a replica that cannot read the Lease, and says why", async () => {
    const house = new House();
    house.setFaults(({ site }) => (site.endsWith(" leases") ? { refusal: { status: 403 } } : {}));

    const replica = startReplica(house);
    await house.pass(5_000);

    expect(await checkOf(replica)).toMatch(/^\[-\]leader failed: it is not known who leads: GET .* 403/);
  });

  it("fails on a standby when no replica has led for two lease durations and it cannot lead itself", async () => {
    const house = new House();
    const leader = await startLeader(house);
    const standby = startReplica(house, { name: "aggregator-1" });
    await house.pass(10_000);
    leader.process.crash();
    house.refuse((site) => site.endsWith(" leases"));

    await house.pass(27_000);
    const before = await checkOf(standby);
    await house.pass(6_000);

    expect(before).toContain("[+]leader ok");
    expect(await checkOf(standby)).toMatch(/^\[-\]leader failed: no replica has led for long: ./);
  });
});

describe("a leader that stops", () => {
  it("gives the Lease back at once, also where its watch lags", async () => {
    const house = new House();
    let answerMs = 1;
    house.setFaults(({ site }) => (site === "watch pods" ? { answerMs: () => answerMs } : {}));
    const leader = await startLeader(house);
    await house.pass(5_000);
    answerMs = 60_000;
    const begunMs = house.nowMs;

    await leader.stop();

    expect(house.nowMs - begunMs).toBeLessThan(600);
  });
});
