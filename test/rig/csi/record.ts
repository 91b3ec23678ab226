import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import type { Clock } from "../../../common/runtime/clock.ts";
import { codeOf } from "../process/errors.ts";
import { CALLS, type CallName, faultList } from "./faults.ts";

/** A moment on two clocks, in milliseconds: the wall clock, and `CLOCK_MONOTONIC_RAW` as the driver's time namespace shows it. */
const stamp = v.object({ wallMs: v.number(), monotonicMs: v.number() });
export type Stamp = Readonly<v.InferOutput<typeof stamp>>;

const call = {
  call: v.picklist(CALLS),
  callId: v.string(),
  volume: v.optional(v.string()),
  path: v.optional(v.string()),
};
const mounting = {
  operation: v.picklist(["mount", "umount"]),
  operationId: v.string(),
  call: v.picklist(CALLS),
  callId: v.string(),
  volume: v.string(),
  target: v.string(),
};

const event = v.variant("kind", [
  v.object({ kind: v.literal("driver-started"), driver: v.string(), node: v.string(), run: v.string() }),
  v.object({ kind: v.literal("driver-stopped"), run: v.string() }),
  /** The kubelet's word on the registration. */
  v.object({ kind: v.literal("registration"), registered: v.boolean(), error: v.string() }),
  /** What the control file said when it was first seen to say so. */
  v.object({ kind: v.literal("faults"), faults: faultList }),
  v.object({ kind: v.literal("call-began"), ...call }),
  v.object({ kind: v.literal("call-ended"), ...call, code: v.string(), message: v.string() }),
  /** A fault that a call meets; the end of a hang says why it ended. */
  v.object({ kind: v.literal("fault-met"), callId: v.string(), fault: v.string(), effect: v.string() }),
  v.object({ kind: v.literal("hang-ended"), callId: v.string(), fault: v.string(), because: v.string() }),
  v.object({ kind: v.literal("operation-began"), ...mounting }),
  v.object({ kind: v.literal("operation-ended"), ...mounting, error: v.nullable(v.string()) }),
  /** What a volume contains is destroyed between the two. */
  v.object({ kind: v.literal("destruction-began"), volume: v.string() }),
  v.object({ kind: v.literal("destruction-ended"), volume: v.string() }),
]);
const line = v.intersect([v.object({ at: stamp }), event]);

/** What happened in the driver. */
export type RecordEvent = Readonly<v.InferOutput<typeof event>>;
export type RecordLine = Readonly<v.InferOutput<typeof line>>;

/** A mount or an umount. It took place between begin and end; without an end the driver was killed within it. */
export interface MountOperation {
  readonly operation: "mount" | "umount";
  /** What it was done for: staging is told from publishing by it. */
  readonly call: CallName;
  readonly volume: string;
  readonly target: string;
  readonly began: Stamp;
  readonly ended: Stamp | undefined;
  /** What mount(8) or umount(8) said when it failed. */
  readonly error: string | undefined;
}

/** What the clock shows now. */
export function stampNow(clock: Clock): Stamp {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

/** Writes down what happens, a line of JSON each, at once: a killed driver loses none. */
export function createRecorder(file: string, clock: Clock): (event: RecordEvent) => void {
  mkdirSync(dirname(file), { recursive: true });
  return (event) => appendFileSync(file, `${JSON.stringify({ at: stampNow(clock), ...event })}\n`);
}

/** All lines of a record, from its begin. The last one may be half written: it is left out. */
export function readRecord(file: string): readonly RecordLine[] {
  return parseRecord(readText(file));
}

/** The lines of a record's text. Throws when a whole line is not what a driver writes. */
export function parseRecord(text: string): readonly RecordLine[] {
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((one) => one !== "")
    .map((one) => v.parse(line, JSON.parse(one)));
}

/** The mounts and umounts of a record, in the order in which they began. */
export function operationsIn(lines: readonly RecordLine[]): readonly MountOperation[] {
  const ends = new Map(
    lines.flatMap((one) => (one.kind === "operation-ended" ? [[one.operationId, one] as const] : [])),
  );
  return lines.flatMap((one) => {
    if (one.kind !== "operation-began") return [];
    const end = ends.get(one.operationId);
    const { operation, call, volume, target, at } = one;
    return [{ operation, call, volume, target, began: at, ended: end?.at, error: end?.error ?? undefined }];
  });
}

/** When the contents of a volume were destroyed; nothing while they are there. Without an end the driver was killed within it. */
export function destructionIn(
  lines: readonly RecordLine[],
  volume: string,
): { readonly began: Stamp; readonly ended: Stamp | undefined } | undefined {
  const at = (kind: "destruction-began" | "destruction-ended"): Stamp | undefined =>
    lines.find((one) => one.kind === kind && one.volume === volume)?.at;
  const began = at("destruction-began");
  return began === undefined ? undefined : { began, ended: at("destruction-ended") };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    // Nothing has happened yet.
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}
