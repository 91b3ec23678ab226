import { afterEach, describe, expect, it } from "vitest";
import { MAX_REPORT_UNMOUNT_RECORDS, type NodeReport } from "../../../common/storage/node-report.ts";
import type { ObjectRef } from "../../simulation/engine/api/objects.ts";
import { closeHouses, type House } from "../house.ts";
import { CLAIM, podRef, VOLUME } from "../objects.ts";
import { houseWithNodes, mountedClaim } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { ToldNode } from "./told-node.ts";

afterEach(closeHouses);

/** What belongs to no claim is kept for a quarter of an hour. */
const SETTLED_AFTER_MIN = 20;

/** As many unmount records as a report may have, of unknown volumes, with the longest texts: about 1.5 MB. */
function ends(node: ToldNode, name: string): NodeReport["unmountRecords"] {
  return Array.from({ length: MAX_REPORT_UNMOUNT_RECORDS }, (_, index) => {
    const own = `${name}-${index}`;
    const volume = { by: "name", name: own.padEnd(250, "x") } as const;
    const user = { podUid: own.padEnd(120, "x"), pod: `${"x".repeat(250)}/${"x".repeat(250)}` };
    return { id: own.padEnd(500, "x"), volume, ...user, after: node.stamp - 500, by: node.stamp };
  });
}

function touch(house: House, ref: ObjectRef): void {
  const labels = { touched: String(Math.round(house.nowMs)) };
  house.api.update(ref, (object) => ({ ...object, metadata: { ...object.metadata, labels } }));
}

describe("a report", () => {
  it("with more unmount records than a node may have is refused, and taken once the earlier ones are acknowledged", async () => {
    const { house, leader, n1 } = await mountedClaim();
    house.api.delete(podRef("web"));
    await leader.send(n1.report({ unmountRecords: ends(n1, "one"), generation: 10 }));
    n1.unmount("web");
    const unmountRecords = [...n1.unmountRecords, ...ends(n1, "two").slice(1)];
    const report = (): NodeReport => n1.report({ unmountRecords, generation: 11 });
    const refused = await leader.put(report());
    await house.pass(10_000);
    const before = statusIn(house);

    // Something happens all the time: so it is known that no claim is on its way to which these ends belong.
    let taken = refused;
    for (let minute = 0; minute < SETTLED_AFTER_MIN && taken.status !== 200; minute += 1) {
      await house.pass(60_000);
      for (const ref of [CLAIM, VOLUME]) touch(house, ref);
      await house.pass(1_000);
      taken = await leader.put(report());
    }
    await house.pass(10_000);

    expect(refused.status).toBe(429);
    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(taken.status).toBe(200);
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "Unmounted" });
  });

  it("is not answered by a replica that lost the lead meanwhile", async () => {
    const house = houseWithNodes();
    const leader = await startLeader(house);
    const n1 = new ToldNode(house, "n1");
    leader.slowDown();
    const asked = leader.put(n1.report());

    leader.process.stop();

    expect(await asked).toMatchObject({ status: 503, body: "not the leader\n" });
  });
});

describe("the API server's clock", () => {
  it.each([0, 250, 500, 750])(
    "is known to a tenth of a second when the first report comes, %i ms after a second",
    async (ms) => {
      const house = houseWithNodes();
      await house.pass(1_000 - (house.nowMs % 1_000) + ms);
      const leader = await startLeader(house);
      await house.pass(10_000);

      const { nowMs } = await leader.send(new ToldNode(house, "n1").report());

      expect(house.nowMs - Number(nowMs)).toBeLessThan(120);
    },
  );
});
