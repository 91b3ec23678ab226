import { afterEach, describe, expect, it } from "vitest";
import { type Absence, closeHouses, House } from "../house.ts";
import { type Replica, startLeader, startReplica } from "./replica.ts";

afterEach(closeHouses);

const HOUR_MS = 3_600_000;
const PROBE_MS = 30_000;
const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

/** The answers of `/livez` while the time passes. */
async function probed(house: House, replica: Replica, forMs: number): Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  for (let passed = 0; passed < forMs; passed += PROBE_MS) {
    await house.pass(PROBE_MS);
    answers.add((await replica.get("/livez")).body);
  }
  return answers;
}

/** How long a replica takes to stop. */
async function endOf(house: House, replica: Replica): Promise<number> {
  const begunAt = house.nowMs;
  await replica.stop();
  return house.nowMs - begunAt;
}

describe("an aggregator whose API server is away for an hour", () => {
  it.each<{ readonly name: string; readonly how: Absence }>([
    { name: "refuses connections", how: "broken" },
    { name: "never answers", how: "silence" },
    { name: "is answered for by a proxy", how: "unavailable" },
  ])("stays live, and leads again afterwards, when the server $name", async ({ how }) => {
    const house = new House();
    const leader = await startLeader(house);
    const before = await leader.readiness();

    house.sendApiAway(how);
    const answers = await probed(house, leader, HOUR_MS);
    const meanwhile = await leader.readiness();
    house.bringApiBack();
    const afterwards = await probed(house, leader, 180_000);

    expect(before).toContain("[+]leader ok: this one leads");
    expect([...answers, ...afterwards]).toEqual(["ok", "ok"]);
    expect(meanwhile).toContain("[-]leader failed: no replica has led for long");
    expect(meanwhile).toContain("[+]state ok: not-ready");
    expect(await leader.readiness()).toContain("[+]leader ok: this one leads");
    expect(leader.logger.messages("error")).toEqual([]);
  });

  it("stays live when it starts meanwhile", async () => {
    const house = new House();
    house.sendApiAway("broken");
    const replica = startReplica(house);

    const answers = await probed(house, replica, HOUR_MS);
    const meanwhile = await replica.readiness();
    house.bringApiBack();
    await probed(house, replica, 180_000);

    expect([...answers]).toEqual(["ok"]);
    expect(meanwhile).toContain("[+]state ok: starting");
    expect(meanwhile).toContain("[-]cluster failed: not listed yet: pods");
    expect(await replica.readiness()).toContain("[+]leader ok: this one leads");
  });
});

describe("an aggregator that stops", () => {
  it("releases its Lease within its grace period, and is not ready meanwhile as it drains", async () => {
    const house = new House();
    const leader = await startLeader(house);
    house.setFaults(({ site }) => (site === "patch leases" ? { requestMs: 1_000 } : {}));

    leader.process.stop();
    const draining = await leader.get("/readyz");
    const live = await leader.get("/livez");
    const tookMs = await endOf(house, leader);

    expect([draining.status, live.status]).toEqual([503, 200]);
    expect(draining.body).toContain("[-]state failed: draining");
    expect(house.api.get(LEASE)?.spec).toMatchObject({ holderIdentity: "" });
    expect(tookMs).toBeLessThan(30_000);
  });

  it("stops within its grace period although the API server does not answer", async () => {
    const house = new House();
    const leader = await startLeader(house);
    house.sendApiAway("silence");

    expect(await endOf(house, leader)).toBeLessThan(25_000);
  });
});
