import { array, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { applyProtection, auditOnly, ENFORCING, kubectl, protectionInForce } from "../rig/stand-in/protection.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  readClaim,
  type Stage,
  startMooring,
  volumeOf,
} from "../rig/stand-in/stage.ts";

/** What people see of protection, with real mounts, agents, an aggregator of its own account, and kube-controller-manager. */

const eventList = object({
  items: array(object({ reason: string(), note: string(), regarding: object({ name: string() }) })),
});
const EVENTS = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const HELD = "mooring_claims_deletion_held";
const OLDEST = "mooring_claims_deletion_held_oldest_seconds";
const REMOVED = "mooring_claims_removed_while_mounted_total";

let owner: Owner;
let stage: Stage;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const cluster = await buildCluster(owner);
  await applyProtection(cluster.plane);
  stage = { owner, ...cluster, ...(await startMooring(owner, cluster, ENFORCING)) };
  await makeClaims(stage, ["kept", "forced", "audited"]);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const ofShop = (...args: readonly string[]) => kubectl(stage.plane, "-n", NAMESPACE, ...args);

/** A claim that is being deleted, mounted still, without a pod; what kubectl said of its deletion. */
async function deletedWhileMounted(claim: string) {
  const [kubelet] = stage.kubelets;
  const pod = await kubelet.runPod({ namespace: NAMESPACE, name: `user-of-${claim}`, claim, volume: volumeOf(claim) });
  await claimThat(stage, { claim, what: "mounted", holds: isMounted });
  await protectionInForce(owner, stage.plane, { namespace: NAMESPACE, name: claim });
  await kubelet.forceDelete(pod);
  const { stderr } = await ofShop("delete", "pvc", claim, "--wait=false");
  return { stderr, unmount: () => kubelet.unmount(pod) };
}

async function metric(sample: string): Promise<number> {
  const text = await (await fetch(`${stage.aggregator.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${sample} `));
  return Number(line?.slice(sample.length));
}

async function told(claim: string, reason: string): Promise<readonly string[]> {
  const { items } = parse(eventList, await stage.api.get(EVENTS));
  return items.filter((one) => one.regarding.name === claim && one.reason === reason).map(({ note }) => note);
}

async function event(claim: string, reason: string): Promise<string> {
  let note = "";
  const check = async (): Promise<void> => {
    [note = expect.fail("there is none")] = await told(claim, reason);
  };
  await waitUntil(owner, { what: `${reason} on ${claim}`, limitMs: 60_000, check });
  return note;
}

async function gone(claim: string): Promise<void> {
  const check = async (): Promise<void> => await expect(readClaim(stage.api, claim)).rejects.toThrow("404");
  await waitUntil(owner, { what: `${claim} gone`, limitMs: 30_000, check });
}

describe("a deleted claim that a node has mounted", () => {
  it("gets one event with the reason, the node and the override, and is counted until the unmount", async () => {
    const { stderr, unmount } = await deletedWhileMounted("kept");
    const { uid } = await readClaim(stage.api, "kept");
    const early = await told("kept", "DeletionHeld");

    const note = await event("kept", "DeletionHeld");
    const during = [await metric(HELD), (await metric(OLDEST)) >= 29];
    await unmount();
    await gone("kept");

    expect(stderr).toContain("It stays Terminating until the volume is unmounted");
    expect(early).toEqual([]);
    expect(note).toContain(`Mounted on node node-a by pod ${NAMESPACE}/user-of-kept.`);
    expect(note).toContain(`mooring.dev/force-release="${uid.slice(0, 8)} REASON"`);
    expect(during).toEqual([1, true]);
    await waitUntil(owner, {
      what: "no held claim",
      limitMs: 20_000,
      check: async () => expect([await metric(HELD), await metric(OLDEST)]).toEqual([0, 0]),
    });
    expect(await told("kept", "DeletionHeld")).toHaveLength(1);
    expect(await told("kept", "RemovedWhileMounted")).toEqual([]);
  });

  it("that its override releases gets an event about that, and about its removal while mounted", async () => {
    const { unmount } = await deletedWhileMounted("forced");
    const { uid } = await readClaim(stage.api, "forced");

    await ofShop("annotate", "pvc", "forced", `mooring.dev/force-release=${uid.slice(0, 8)} lost with node-a`);
    await gone("forced");
    const released = await event("forced", "ForceReleased");
    const removed = await event("forced", "RemovedWhileMounted");
    const count = await metric(`${REMOVED}{why="override"}`);
    await unmount();

    expect(released).toContain("Reason given: lost with node-a");
    expect(released).toContain(`mounted on node node-a by pod ${NAMESPACE}/user-of-forced`);
    expect(removed).toBe(
      `The claim is gone while its volume is mounted on node node-a by pod ${NAMESPACE}/user-of-forced: mooring.dev/force-release let it go`,
    );
    expect(count).toBe(1);
  });

  it("goes where the binding has been changed to audit, and that is an event and counted as unexpected", async () => {
    const { unmount } = await deletedWhileMounted("audited");

    await auditOnly(stage.plane);
    // Kubernetes' controller comes back to it later and later; a write lets it try at once.
    await waitUntil(owner, {
      what: "the claim gone",
      limitMs: 60_000,
      check: async () => {
        await ofShop("label", "pvc", "audited", "--overwrite", `touched=${stage.owner.clock.wallMs()}`).catch(() => {});
        await expect(readClaim(stage.api, "audited")).rejects.toThrow("404");
      },
    });
    const removed = await event("audited", "RemovedWhileMounted");
    const count = await metric(`${REMOVED}{why="unexpected"}`);
    await unmount();

    expect(removed).toContain(`mounted on node node-a by pod ${NAMESPACE}/user-of-audited`);
    expect(count).toBe(1);
  });
});
