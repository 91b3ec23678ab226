import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../../common/storage/timestamp.ts";
import { HarnessError } from "../process/errors.ts";
import type { Moment, StandInPod } from "../stand-in/kubelet.ts";
import { listClaims } from "../stand-in/mooring.ts";
import { claimThat, NAMESPACE, readClaim, type Stage, volumeOf } from "../stand-in/stage.ts";
import type { Printer } from "./print.ts";

/** What the summary table says of one unmount. Milliseconds. */
export interface Measured {
  readonly step: string;
  /** From the end of `umount` until the status was stored. */
  readonly delayMs: number;
  /** How much later than the unmount the published moment is. */
  readonly lateMs: number;
  /** The uncertainty that Mooring states. */
  readonly widthMs: number | undefined;
}

/** A scene of the story: plays, checks, and says what it measured. Throws a HarnessError when a check does not hold. */
export type Scene = (stage: Stage, printer: Printer) => Promise<readonly Measured[]>;

function check(printer: Printer, holds: boolean, text: string): void {
  printer.line(holds ? "ok" : "failed", text);
  if (!holds) throw new HarnessError(`this does not hold: ${text}`);
}

function clockTime(ms: number): string {
  return formatMillisecondsUp(ms).slice(11, 23);
}

function secondTime(ms: number): string {
  return formatSecondsUp(ms).slice(11, 19);
}

/** Prints what both say of a claim. */
function show(printer: Printer, { status, upstream }: Claim): void {
  const kubernetes =
    upstream === undefined
      ? "nothing"
      : `${upstream.unused ? "unused" : "in use"} since ${secondTime(upstream.sinceMs ?? 0)}`;
  printer.line("note", `Kubernetes: ${kubernetes}`);
  const since = status === undefined ? "" : ` since ${secondTime(status.sinceMs)}  (${status.message})`;
  printer.line(
    "note",
    `Mooring:    ${status === undefined ? "nothing" : `${status.unused ? "unused" : "in use"}, ${status.reason}${since}`}`,
  );
}

const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const isUnmounted = ({ status }: Claim): boolean => status?.reason === "Unmounted";

async function runPod(
  { kubelets }: Stage,
  { claim, on, name }: { claim: string; on: 0 | 1; name: string },
): Promise<StandInPod> {
  return await kubelets[on].runPod({ namespace: NAMESPACE, name, claim, volume: volumeOf(claim) });
}

/** Starts a pod and waits until Mooring sees its mount. */
async function mountClaim(stage: Stage, pod: { claim: string; on: 0 | 1; name: string }): Promise<StandInPod> {
  const running = await runPod(stage, pod);
  const node = stage.kubelets[pod.on].node;
  const holds = ({ status }: Claim): boolean => status?.mountedOn?.nodes.includes(node) ?? false;
  await claimThat(stage, { claim: pod.claim, what: `mounted on ${node}`, holds });
  return running;
}

/** Checks a published unmount against the truth, which is a moment between two readings of this machine's clock. */
async function checkUnmount(
  stage: Stage,
  printer: Printer,
  {
    claim: name,
    step,
    truth,
    notAfterMs,
  }: { claim: string; step: string; truth: Moment; notAfterMs: number | undefined },
): Promise<readonly Measured[]> {
  const { claim, seenAtMs } = await claimThat(stage, { claim: name, what: "unmounted", holds: isUnmounted });
  show(printer, claim);
  const releasedAtMs = claim.status?.lastUse?.releasedAtMs ?? 0;
  const sinceMs = claim.status?.sinceMs ?? 0;
  const widthMs = claim.status?.lastUse?.uncertaintyMs;
  printer.line(
    "note",
    `unmounted at ${clockTime(truth.notAfterMs)}, published as ${clockTime(releasedAtMs)}, uncertainty ${Math.round(widthMs ?? 0)} ms`,
  );
  check(
    printer,
    releasedAtMs >= truth.notBeforeMs && sinceMs >= truth.notBeforeMs,
    "not before the truth: the idle time is never too long",
  );
  const limitMs = notAfterMs ?? truth.notAfterMs + 1500;
  check(
    printer,
    releasedAtMs <= limitMs,
    notAfterMs === undefined ? "and within 1.5 s of it" : "and not after the first complete read since",
  );
  return [{ step, delayMs: seenAtMs - truth.notAfterMs, lateMs: releasedAtMs - truth.notBeforeMs, widthMs }];
}

export const idleClaim: Scene = async (stage, printer) => {
  printer.step("Claims that nobody has used yet");
  const { claim } = await claimThat(stage, {
    claim: "orders",
    what: "known to both",
    holds: ({ status, upstream }) => status !== undefined && upstream !== undefined,
  });
  show(printer, claim);
  check(printer, claim.status?.reason === "NeverObservedInUse", "Mooring does not invent a time of last use");
  return [];
};

export const forceDelete: Scene = async (stage, printer) => {
  const [kubelet] = stage.kubelets;
  printer.step("A pod mounts the claim orders on node-a");
  const pod = await mountClaim(stage, { claim: "orders", on: 0, name: "orders-0" });
  const before = await claimThat(stage, {
    claim: "orders",
    what: "in use for both",
    holds: (one) => isMounted(one) && one.upstream?.unused === false,
  });
  show(printer, before.claim);
  check(printer, true, "both say: in use");

  printer.step("The pod is force-deleted, but the mount is still there");
  await kubelet.forceDelete(pod);
  const { claim } = await claimThat(stage, {
    claim: "orders",
    what: "unused for Kubernetes",
    holds: ({ upstream }) => upstream?.unused === true,
  });
  show(printer, claim);
  check(printer, isMounted(claim), "Kubernetes says unused, Mooring says Mounted: deleting this volume now would hurt");
  printer.text(`\n    $ npm run claims -- -n ${NAMESPACE}`);
  const table = await listClaims(stage, NAMESPACE);
  printer.text(table.trimEnd().replace(/^/gm, "    "));

  printer.step("The kubelet unmounts it at last");
  const truth = await kubelet.unmount(pod);
  return await checkUnmount(stage, printer, {
    claim: "orders",
    step: "unmount after a force-delete",
    truth,
    notAfterMs: undefined,
  });
};

export const aggregatorKilled: Scene = async (stage, printer) => {
  const [kubelet] = stage.kubelets;
  printer.step("The aggregator is killed, a pod ends and its volume is unmounted meanwhile");
  const pod = await mountClaim(stage, { claim: "reports", on: 0, name: "reports-0" });
  await stage.aggregator.child.kill();
  await kubelet.forceDelete(pod);
  const truth = await kubelet.unmount(pod);
  check(printer, isMounted(await readClaim(stage.api, "reports")), "nothing is written while nobody knows");
  await stage.aggregator.start();
  return await checkUnmount(stage, printer, {
    claim: "reports",
    step: "aggregator killed (kill -9)",
    truth,
    notAfterMs: undefined,
  });
};

export const agentKilled: Scene = async (stage, printer) => {
  const [kubelet] = stage.kubelets;
  const [agent] = stage.agents;
  printer.step("The agent of node-a is killed, a volume is unmounted meanwhile");
  const pod = await mountClaim(stage, { claim: "cache", on: 0, name: "cache-0" });
  await agent.child.kill();
  await kubelet.forceDelete(pod);
  const truth = await kubelet.unmount(pod);
  await agent.start();
  await agent.ready();
  const firstReadMs = stage.owner.clock.wallMs() + 1000;
  return await checkUnmount(stage, printer, {
    claim: "cache",
    step: "agent killed (kill -9)",
    truth,
    notAfterMs: firstReadMs,
  });
};

export const twoNodes: Scene = async (stage, printer) => {
  const [first, second] = stage.kubelets;
  printer.step("The claim shared is mounted on two nodes by a CSI driver");
  const onFirst = await mountClaim(stage, { claim: "shared", on: 0, name: "shared-0" });
  const onSecond = await mountClaim(stage, { claim: "shared", on: 1, name: "shared-1" });
  show(printer, await readClaim(stage.api, "shared"));
  await first.forceDelete(onFirst);
  await first.unmount(onFirst);
  // A round trip through another claim of node-a shows that its agent has reported the unmount.
  const marker = await mountClaim(stage, { claim: "orders", on: 0, name: "orders-1" });
  check(printer, isMounted(await readClaim(stage.api, "shared")), "unmounted on node-a, still in use on node-b");
  await first.forceDelete(marker);
  await first.unmount(marker);

  printer.step("The API server is killed and restarted while node-b unmounts it");
  await second.forceDelete(onSecond);
  await stage.plane.part("kube-apiserver").kill();
  const truth = await second.unmount(onSecond);
  await stage.plane.part("kube-apiserver").start();
  const measured = await checkUnmount(stage, printer, {
    claim: "shared",
    step: "API server killed (kill -9)",
    truth,
    notAfterMs: undefined,
  });
  const staged = await readClaim(stage.api, "shared");
  check(printer, isUnmounted(staged), "the staging mount is still there: it protects the volume, but it is no use");
  return measured;
};

export const etcdKilled: Scene = async (stage, printer) => {
  const [kubelet] = stage.kubelets;
  printer.step("etcd is killed and restarted during an unmount");
  const pod = await mountClaim(stage, { claim: "reports", on: 0, name: "reports-1" });
  await kubelet.forceDelete(pod);
  await stage.plane.part("etcd").kill();
  const truth = await kubelet.unmount(pod);
  await stage.plane.part("etcd").start();
  return await checkUnmount(stage, printer, {
    claim: "reports",
    step: "etcd killed (kill -9)",
    truth,
    notAfterMs: undefined,
  });
};
