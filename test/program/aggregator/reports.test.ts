import { afterEach, describe, expect, it } from "vitest";
import { INTERNAL_ERROR } from "../../../common/runtime/internal-errors.ts";
import { MAX_REPORT_UNMOUNT_RECORDS, type NodeMessage, type NodeReport } from "../../../common/storage/node-report.ts";
import type { ApiObject, ObjectRef } from "../../simulation/engine/api/objects.ts";
import { closeHouses, type House } from "../house.ts";
import { CLAIM, podRef, VOLUME } from "../objects.ts";
import { houseWithNodes, mountedClaim } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { leadingScene } from "./scene.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

/** What belongs to no claim is kept for a quarter of an hour. */
const SETTLED_AFTER_MIN = 20;

/** As many unmount records as a report may have, of unknown volumes, with the longest texts: about 1.5 MB. */
function ends(node: ScriptedNode, name: string): NodeReport["unmountRecords"] {
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
    // With the mount 11,989 of the 12,000 that there is room for.
    for (let round = 0; round < 12; round += 1) {
      await leader.send(n1.report({ unmountRecords: ends(n1, `${round}`).slice(1), generation: 10 + round }));
      await house.pass(1_000);
    }
    n1.unmount("web");
    const unmountRecords = [...n1.unmountRecords, ...ends(n1, "last").slice(1)];
    const report = (): NodeReport => n1.report({ unmountRecords, generation: 22 });
    const refused = await leader.put(report());
    await house.pass(10_000);
    const before = statusIn(house);

    // The watches go on all the time, so that no claim of these ends can still be on its way.
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

  it("of a machine that starts again with more than its node may have is taken after a quarter of an hour", async () => {
    const { house, leader, n1 } = await mountedClaim();
    for (let round = 0; round < 12; round += 1) {
      await leader.send(n1.report({ unmountRecords: ends(n1, `${round}`).slice(1), generation: 10 + round }));
      await house.pass(1_000);
    }
    n1.reboot();
    const nodeInfo = { bootID: n1.bootId, kubeletVersion: "v1.36.3" };
    const booted = (object: ApiObject): ApiObject => ({ ...object, status: { ...Object(object.status), nodeInfo } });
    house.api.update({ resource: "nodes", name: "n1" }, booted, { subresource: "status" });
    await house.pass(2_000);
    for (let at = 0; at < 20; at += 1) n1.mount(`p${at}`, `c${at}`);
    let status = 0;
    for (let minute = 0; minute < SETTLED_AFTER_MIN && status !== 200; minute += 1) {
      await house.pass(60_000);
      for (const ref of [CLAIM, VOLUME]) touch(house, ref);
      await house.pass(1_000);
      status = (await leader.put(n1.report())).status;
    }

    expect(status).toBe(200);
  });

  it("is not answered by a replica that loses the lead while it arrives", async () => {
    const house = houseWithNodes();
    const leader = await startLeader(house);
    const n1 = new ScriptedNode(house, "n1");
    leader.slowDown();
    const pending = leader.put(n1.report());

    leader.process.stop();

    expect(await pending).toMatchObject({ status: 503, body: "not the leader\n" });
  });
});

describe("what a node reports", () => {
  it.each<{ readonly name: string; readonly messageOf: (node: ScriptedNode) => NodeMessage }>([
    { name: "a heartbeat of an unknown state", messageOf: (node) => node.heartbeat() },
    { name: "a message to an earlier leader", messageOf: (node) => node.report({ session: "earlier" }) },
    { name: "a message to no leader", messageOf: (node) => node.report({ session: "" }) },
  ])("is requested in full after $name", async ({ messageOf }) => {
    const scene = await leadingScene();

    const answer = await scene.leader.sendOnce(messageOf(scene.node()));

    expect(answer).toMatchObject({ forget: [], whole: true });
  });

  it("is taken one after the other where two of a node arrive at once", async () => {
    const scene = await leadingScene();
    const node = scene.node();
    const earlier = node.report();
    await scene.pass(1);
    node.mount("web");
    scene.leader.slowDown();

    const [, newer] = await Promise.all([scene.leader.sendOnce(earlier), scene.leader.sendOnce(node.report())]);
    await scene.pass(1);

    expect(newer.whole).toBeUndefined();
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
  });

  it("is taken again two minutes after the boot clock went back, once it is sent in full, with a warning", async () => {
    const scene = await leadingScene({ claims: [{}, { name: "second" }] });
    const node = scene.node();
    node.mount("web");
    for (const pod of ["early", "other"]) node.mount(pod, "second");
    await scene.report();
    node.unmount("early");
    await scene.report();
    const [, stays] = node.mountedVolumes;
    node.putBack(1_800_000);
    node.mountedVolumes = stays === undefined ? [] : [stays];
    const answers = [];
    for (let count = 0; count < 3; count += 1) {
      await scene.pass(30);
      answers.push((await scene.leader.sendOnce(node.report())).whole);
    }
    await scene.until(160);
    for (const message of [node.heartbeat(), node.report()]) answers.push((await scene.leader.sendOnce(message)).whole);
    await scene.pass(1);
    const [first, second] = [scene.status(), scene.status("second")];
    node.unmount("other");
    await scene.report();
    await scene.pass(1);

    expect(answers).toEqual([true, true, true, true, undefined]);
    // A mount that it shows no longer ended by that scan. A later record is later than all from before.
    expect(first).toMatchObject({ unused: true, lastUse: { podUid: "uid-of-web" } });
    expect([scene.since(), second?.reason]).toEqual([160, "Mounted"]);
    expect(scene.status("second")).toMatchObject({ unused: true, lastUse: { podUid: "uid-of-other" } });
    const line = scene.leader.logger.lines.find(({ message }) => message.startsWith("node's boot clock went back"));
    expect(line).toMatchObject({ level: "warn", fields: { node: "n1" } });
  });

  it("is not accepted from a copy of the node while the node reports, however often the copy sends it", async () => {
    const scene = await leadingScene();
    const node = scene.node();
    await scene.report();
    const copy = new ScriptedNode(scene.house, "n1");
    copy.putBack(1_800_000);
    const answers = [];
    for (let count = 0; count < 10; count += 1) {
      await scene.pass(59);
      answers.push((await scene.leader.sendOnce(copy.report())).whole);
      await scene.pass(59);
      answers.push((await scene.leader.sendOnce(node.report())).whole);
    }

    expect(answers).toEqual(Array.from({ length: 10 }, () => [true, undefined]).flat());
  });
});

describe("a bug", () => {
  it("in one effect of a report stays there: the report counts for everything else", async () => {
    const scene = await leadingScene();
    await scene.report();
    await scene.pass(100);
    const { logger } = scene.leader;
    logger.failAt(({ message }) => message === "agent state changed");
    scene.node().mount("web");

    const answer = await scene.leader.put(scene.node().report());
    await scene.pass(10);
    logger.forget();

    expect(answer.status).toBe(500);
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
  });

  it("in the work on one claim stays there, is counted, and the work is tried again", async () => {
    const scene = await leadingScene({ claims: [{}, { name: "bad" }] });
    await scene.report();
    await scene.pass(2);
    const { logger } = scene.leader;
    logger.failAt(({ message, fields }) => message === "claim status written" && fields.claim === "bad");
    for (const claim of ["bad", "data"]) scene.node().mount(`of-${claim}`, claim);

    const answer = await scene.report();
    await scene.pass(20);
    const keys = logger.lines.flatMap(({ message, fields }) => (message === INTERNAL_ERROR ? [fields.key] : []));
    logger.forget();

    expect(answer).toMatchObject({ forget: [] });
    expect(keys).toEqual(["shop/bad"]);
    expect([scene.status()?.reason, scene.status("bad")?.reason]).toEqual(["Mounted", "Mounted"]);
    expect(await scene.leader.metric("mooring_internal_errors_total", "claims")).toBe(1);
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

      const { nowMs } = await leader.send(new ScriptedNode(house, "n1").report());

      expect(house.nowMs - Number(nowMs)).toBeLessThan(120);
    },
  );
});
