import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { formatMillisecondsUp, formatSecondsUp } from "../../common/storage/timestamp.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Moment } from "../rig/stand-in/kubelet.ts";
import { claimThat } from "../rig/stand-in/stage.ts";
import type { Printer } from "./print.ts";
import type { NewPod, PodInUse, World } from "./world.ts";

/** The measurements of one unmount in the summary table. Milliseconds. */
export interface Measured {
  readonly step: string;
  /** From the end of `umount` until the status was stored. */
  readonly delayMs: number;
  /** How much later than the unmount the published time is. */
  readonly lateMs: number;
  /** The uncertainty that Mooring publishes. */
  readonly widthMs: number | undefined;
}

/** A scene of the story: it plays, checks, and returns its measurements. Throws a HarnessError when a check fails. */
export type Scene = (world: World, printer: Printer) => Promise<readonly Measured[]>;

/** The truth about the end of a use that Mooring has to publish. */
export interface KnownEnd {
  readonly claim: string;
  /** Names it in the summary. */
  readonly step: string;
  readonly truth: Moment;
  /** The latest time that may be published where no agent scanned: the first complete scan since. Milliseconds of the wall clock. */
  readonly firstScanMs?: number;
}

/** How much later than the truth a published time may be while the agent runs, in milliseconds. */
const BUDGET_MS = 1500;

export const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
export const isUnmounted = ({ status }: Claim): boolean => status?.reason === "Unmounted";

/** Prints a check. Throws a HarnessError when it fails. */
export function check(printer: Printer, holds: boolean, text: string): void {
  printer.line(holds ? "ok" : "failed", text);
  if (!holds) throw new HarnessError(`this does not hold: ${text}`);
}

/** Prints the conditions of Mooring and of Kubernetes. */
export function show(printer: Printer, { status, upstream }: Claim): void {
  const kubernetes =
    upstream === undefined
      ? "nothing"
      : `${upstream.unused ? "unused" : "in use"} since ${secondTime(upstream.sinceMs ?? 0)}`;
  printer.line("note", `Kubernetes: ${kubernetes}`);
  for (const line of status === undefined ? ["nothing"] : fieldsOf(status)) printer.line("note", `Mooring:    ${line}`);
}

function fieldsOf({ unused, reason, sinceMs, message }: ClaimStatus): readonly string[] {
  return [`${unused ? "unused" : "in use"} since ${secondTime(sinceMs)}, ${reason}`, message];
}

/** Waits until a claim is as a step expects it. */
export function awaitClaim(
  world: World,
  expected: { readonly claim: string; readonly what: string; readonly holds: (claim: Claim) => boolean },
): ReturnType<typeof claimThat> {
  return claimThat(world, { ...expected, limitMs: world.limitMs });
}

/** Starts a pod and waits until Mooring reports its mount. */
export async function mountClaim(world: World, pod: NewPod): Promise<PodInUse> {
  const running = await world.runPod(pod);
  const node = world.nodes[pod.on];
  const holds = ({ status }: Claim): boolean => status?.mountedOn?.nodes.includes(node) ?? false;
  await awaitClaim(world, { claim: pod.claim, what: `mounted on ${node}`, holds });
  return running;
}

/** Checks a published unmount against the truth, which lies between two readings of this machine's clock. */
export async function checkUnmount(world: World, printer: Printer, known: KnownEnd): Promise<readonly Measured[]> {
  const { claim: name, step, truth, firstScanMs } = known;
  const { claim, seenAtMs } = await awaitClaim(world, { claim: name, what: "unmounted", holds: isUnmounted });
  show(printer, claim);
  const byMs = claim.status?.lastUse?.byMs ?? 0;
  const sinceMs = claim.status?.sinceMs ?? 0;
  const widthMs = claim.status?.lastUse?.widthMs;
  const [unmounted, published] = [clockTime(truth.notAfterMs), clockTime(byMs)];
  const uncertainty = `uncertainty ${widthMs === undefined ? "not known" : `${Math.round(widthMs)} ms`}`;
  printer.line("note", `unmounted at ${unmounted}, published as ${published}, ${uncertainty}`);
  const isLate = byMs >= truth.notBeforeMs && sinceMs >= truth.notBeforeMs;
  check(printer, isLate, "not before the truth: the idle time is never too long");
  const limitMs = (firstScanMs ?? truth.notAfterMs + BUDGET_MS) + world.starvation(truth.notAfterMs, byMs);
  const limit = firstScanMs === undefined ? "and within 1.5 s of it" : "and not after the first complete scan since";
  check(printer, byMs <= limitMs, limit);
  return [{ step, delayMs: seenAtMs - truth.notAfterMs, lateMs: byMs - truth.notBeforeMs, widthMs }];
}

function clockTime(ms: number): string {
  return formatMillisecondsUp(ms).slice(11, 23);
}

function secondTime(ms: number): string {
  return formatSecondsUp(ms).slice(11, 19);
}
