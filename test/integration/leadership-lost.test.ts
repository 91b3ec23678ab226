import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { countStarvation } from "../rig/process/starvation.ts";
import { startHoldingProxy } from "./holding-proxy.ts";
import { isReferenced, isUnused, LeadershipStage, put, WRITTEN } from "./leadership-stage.ts";

let stage: LeadershipStage;

beforeAll(async () => {
  stage = await LeadershipStage.open();
});
afterEach(() => stage.stopAll());
afterAll(() => stage.close());

describe("a leader that is killed", () => {
  it("is replaced within 20 s, and what happened meanwhile gets its own time", async () => {
    const [leader, standby] = await stage.pair("kill");
    await stage.cluster.createClaims(["kill"]);
    await stage.cluster.claimThat("kill", "known", isUnused);
    await stage.until("the standby's lists", 20_000, async () =>
      expect((await standby.get("/readyz?verbose")).text).toContain("[+]cluster ok"),
    );
    await stage.cluster.createPod("kill-0", "kill");
    await stage.cluster.claimThat("kill", "referenced", isReferenced);
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([leader.pod]));
    // Before that the standby would have watched for less long than the leader's word reaches, and would leave the Lease to others first.
    await stage.until("the leader's word of the pod", 20_000, () => stage.requireWordOf("kill-0"));

    await leader.child.kill();
    const [endedAtMs, starvedMs] = [stage.owner.clock.wallMs(), countStarvation(stage.owner)];
    await stage.cluster.removePod("kill-0");
    const tookMs = await stage.takenOver(standby, 30_000);

    expect(tookMs).toBeLessThan(20_000);
    const { status } = await stage.cluster.claimThat("kill", "unused", isUnused);
    expect(status?.sinceMs).toBeGreaterThanOrEqual(endedAtMs);
    // A standby saw it: nothing waited for the takeover.
    expect(status?.sinceMs).toBeLessThan(endedAtMs + 3_000 + starvedMs());
    await stage.until("the label", 5_000, async () => expect(await stage.replicas.labelled()).toEqual([standby.pod]));
  });
});

describe("a leader that is paused in the middle of a write and resumes when another replica leads", () => {
  const REFUSED =
    /^apiserver_request_total\{code="409",.*resource="persistentvolumeclaims",.*subresource="status",.*\} (\d+)$/gm;

  async function conflicts(): Promise<number> {
    const { text } = await stage.cluster.plane.api({ path: "/metrics" });
    return [...text.matchAll(REFUSED)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  it("writes nothing: the API server refuses what it had sent, and it sends no more", async () => {
    const proxy = await startHoldingProxy(new URL(stage.cluster.plane.url));
    stage.owner.defer(() => proxy.close());
    const [leader, standby] = await stage.pair("paused", { through: proxy.port });
    await stage.cluster.createClaims(["paused"]);
    await stage.cluster.claimThat("paused", "known", isUnused);
    // Right after a renewal: the connection that the next write takes is there, and nothing else is to be sent on it.
    const { renewTime } = await stage.replicas.lease();
    await stage.until("a renewal", 5_000, async () =>
      expect((await stage.replicas.lease()).renewTime).not.toBe(renewTime),
    );
    const written = await leader.metric(WRITTEN);

    proxy.hold();
    await stage.cluster.createPod("paused-0", "paused");
    await stage.until("the write on its way", 1_200, async () => expect(proxy.held()).toBeGreaterThan(500));
    leader.child.signal("SIGSTOP");
    // How soon is the matter of the row above.
    await standby.leads(30_000);
    const { resourceVersion, status } = await stage.cluster.claimThat("paused", "referenced", isReferenced);
    const before = await conflicts();
    proxy.release();
    await stage.until("the refusal", 5_000, async () => expect(await conflicts()).toBeGreaterThan(before));
    leader.child.signal("SIGCONT");
    await stage.cluster.removePod("paused-0");
    await stage.cluster.claimThat("paused", "unused again", isUnused);

    await stage.until("the former leader as a standby", 5_000, async () => {
      expect((await leader.get("/readyz?verbose")).text).toMatch(/^\[\+\]leader ok: paused-b_.* leads since/m);
    });
    expect((await put(leader)).status).toBe(503);
    expect(await leader.metric(WRITTEN)).toBe(written);
    expect(status?.message).not.toBe("");
    expect((await stage.cluster.claim("paused")).resourceVersion).not.toBe(resourceVersion);
    expect(await stage.replicas.labelled()).toEqual([standby.pod]);

    // What it knew when it was stopped is forgotten: it begins anew.
    await stage.cluster.createPod("paused-1", "paused");
    await stage.cluster.claimThat("paused", "referenced by another pod", isReferenced);
    await standby.child.stop();
    await stage.cluster.removePod("paused-1");
    const { status: last } = await stage.cluster.claimThat("paused", "unused for the last time", isUnused);
    // It is stored before its writer has the answer.
    await stage.until("the count", 5_000, async () => expect(await leader.metric(WRITTEN)).toBe(written + 1));
    expect(last?.reason).toBe("NoPodUsing");
  });
});
