import * as v from "valibot";
import { nodeFacts } from "./node-facts.ts";
import { CENTURY_MS, LATEST_MS } from "./timestamp.ts";

/**
 * The whole contract between an agent and the aggregator: the state of one node, which may be sent twice, not a stream of events. All
 * stamps are milliseconds on the node's boot clock (`Clock.monotonicMs`), so that `sentAt - stamp` is an age that needs no common wall
 * clock.
 */

/** The version of the report that this code writes and reads. */
export const REPORT_VERSION = 1;

/**
 * The limit of entries, mounted volumes and unmount records together. The aggregator goes through them once in each step of taking a
 * report. A node with 500 pods that use four volumes each shows 4,000 mounted volumes if all are staged as well.
 */
export const MAX_REPORT_ENTRIES = 4_000;

/** The limit of unmount records among them. An agent that has more reports the newest, and the others once these are settled. */
export const MAX_REPORT_UNMOUNT_RECORDS = 1_000;

/** A larger body is refused before it is read to its end; 2 MiB. */
export const MAX_REPORT_BYTES = 2 * 1024 * 1024;

/** The limit of braces, brackets and commas in a body, checked before it is parsed. An entry has ten at most, and its texts have none. */
export const MAX_REPORT_PARTS = 10 * MAX_REPORT_ENTRIES + 1_000;

/** A report contains at most so many gaps; the oldest are merged. */
export const MAX_AGENT_GAPS = 16;

/** A report contains at most so many clock samples. */
export const MAX_CLOCK_SAMPLES = 8;

/** Names are shown to people: no character in them moves a cursor, breaks a line or changes its direction. */
const plain = v.regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, "no control characters");
const NOT_PLAIN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(253), plain);
const uid = v.pipe(v.string(), v.minLength(1), v.maxLength(128), plain);
/** A stamp of a boot clock that has run for less than a century, so that every date computed from two stamps and the present is valid. */
const stamp = v.pipe(v.number(), v.minValue(0), v.ltValue(CENTURY_MS));
/** Milliseconds since the epoch. */
const moment = v.pipe(v.number(), v.minValue(0), v.maxValue(LATEST_MS));

const volume = v.variant("by", [
  v.strictObject({ by: v.literal("name"), name }),
  v.strictObject({ by: v.literal("handle"), driver: name, handleHash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) }),
  // A plugin's name has no slash, or two volumes could have one key. It is short enough for an unmount record's ID.
  v.strictObject({ by: v.literal("device"), plugin: v.pipe(v.string(), v.regex(/^[\w.-]{1,63}$/)), path: name }),
]);

/** `namespace/name` of a pod, where the agent knew it: later the pod may be gone everywhere. */
const podName = v.optional(v.pipe(v.string(), v.regex(/^[^/]{1,253}\/[^/]{1,253}$/), plain));

const mountedVolume = v.strictObject({
  kind: v.picklist(["pod", "subpath", "block", "staging"]),
  volume,
  podUid: v.optional(uid),
  pod: podName,
  /** End of the first scan that showed it: it was mounted by then. A claim that was created later is not its claim. */
  since: stamp,
  /**
   * The last moment at which it was surely mounted, where the last complete scan does not show it: its pod is not over, or another agent
   * saw it. 0 where that was in another boot, or on another clock.
   */
  seenAt: v.optional(stamp),
});

const unmountRecord = v.pipe(
  v.strictObject({
    id: v.pipe(v.string(), v.minLength(1), v.maxLength(512), plain),
    volume,
    podUid: uid,
    pod: podName,
    /** Begin of the last complete scan that showed the use; absent where that was in another boot, or on another clock. */
    after: v.optional(stamp),
    /** End of the first complete scan that did not; the begin of the boot (0) for a use that had ended in an earlier one. */
    by: stamp,
  }),
  v.check(({ after = 0, by }) => after <= by, "after must not be later than by"),
);

const scan = v.strictObject({ beganAt: stamp, endedAt: stamp });

const agentGap = v.pipe(
  v.strictObject({
    /** Begin of the last complete scan before the gap, or the end of the gap before; absent where nothing is known of the time before. */
    from: v.optional(stamp),
    /** End of the first complete scan after it. */
    to: stamp,
  }),
  v.check(({ from = 0, to }) => from <= to, "from must not be later than to"),
);

const agentGaps = v.pipe(
  v.array(agentGap),
  v.minLength(1),
  v.maxLength(MAX_AGENT_GAPS),
  v.check(
    (spans) => spans.slice(1).every(({ from = -1 }, index) => from >= (spans[index]?.to ?? 0)),
    "spans must follow each other, and only the first may lack its begin",
  ),
);

/**
 * A moment at which the agent had an answer of the aggregator, and what the API server's clock had shown before: never too late,
 * whatever the transit took and however long the machine slept since.
 */
const clockSample = v.strictObject({
  at: stamp,
  ms: moment,
});

const clockSamples = v.pipe(
  v.array(clockSample),
  v.maxLength(MAX_CLOCK_SAMPLES),
  v.check(
    (all) => all.slice(1).every(({ at }, index) => at > (all[index]?.at ?? 0)),
    "clock samples must follow each other",
  ),
);

/** The text as a report can contain it: a question mark replaces each character that a terminal would act on. */
export function toPlain(text: string): string {
  return text.replace(NOT_PLAIN, "?");
}

/** Parts of a report that an agent's journal stores in the same form. */
export const REPORT_PARTS = { stamp, uid, podName, volume, unmountRecord, scan, agentGap, clockSamples } as const;

/** A request for a scan: the leader session, and its number there. Opaque to agents. */
const scanRequest = v.pipe(v.string(), v.minLength(1), v.maxLength(96));

/** The sender and its newest complete scan: all of a heartbeat, and the head of a report. */
const head = {
  version: v.literal(REPORT_VERSION),
  node: name,
  bootId: uid,
  podUid: uid,
  /** Identifies one run of the agent. */
  instance: uid,
  /** Grows by one with each change of mounted volumes or unmount records within the instance. */
  generation: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  /** By how much the boot clock's second may differ from a true one. */
  driftPpm: v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(500_000)),
  /** The moment of sending; a body that is sent again keeps it. */
  sentAt: stamp,
  /** The last complete scan of the mount table. */
  scan,
  /** Since when the agent has watched this boot without a gap: the end of the last gap. */
  observedSince: stamp,
  /**
   * When in this boot the agent did not watch: between two complete scans it did not run, or a scan failed or was damaged. What was
   * mounted and unmounted within one of these gaps is unknown to it.
   */
  agentGaps,
  /** The agent's journal began in this boot: the machine had no earlier uses that it would have to report. */
  firstBoot: v.optional(v.boolean()),
  /** The resource version that the watch of this node's pods had reached before the scan began; absent before its first list. */
  podsResourceVersion: v.optional(v.pipe(v.string(), v.regex(/^[0-9]{1,20}$/))),
  /**
   * The leader session in the last answer; empty before the first. A report that names another session was sent to an earlier leader and
   * is ignored.
   */
  session: v.optional(v.pipe(v.string(), v.maxLength(64))),
  /** The `scanRequest` of the last answer before `scan` began; absent before the first. */
  scanRequest: v.optional(scanRequest),
  /** What stamps are dated from, so that the uncertainty of a time does not depend on this message's transit; oldest first. */
  clockSamples: v.optional(clockSamples),
  /** For people to read; absent until the agent has found them out. */
  facts: v.optional(nodeFacts),
};

interface Head {
  readonly scan: ScanSpan;
  readonly sentAt: number;
  readonly observedSince: number;
  readonly agentGaps: readonly AgentGap[];
}

const isInOrder = ({ scan: { beganAt, endedAt } }: Head): boolean => beganAt <= endedAt;
const isSentAfterScan = ({ scan: { endedAt }, sentAt }: Head): boolean => endedAt <= sentAt;
const isCoverageInOrder = ({ scan: { endedAt }, observedSince, agentGaps: spans }: Head): boolean =>
  spans.at(-1)?.to === observedSince && observedSince <= endedAt;
const OUT_OF_ORDER = "scan must not end before it began";
const SENT_EARLY = "sentAt must not be earlier than the end of the scan";
const COVERAGE_UNCLEAR = "observedSince must be the end of the last gap, and not later than the end of the scan";

const report = v.pipe(
  v.strictObject({ ...head, mountedVolumes: v.array(mountedVolume), unmountRecords: v.array(unmountRecord) }),
  v.check((value) => isInOrder(value), OUT_OF_ORDER),
  v.check((value) => isSentAfterScan(value), SENT_EARLY),
  v.check((value) => isCoverageInOrder(value), COVERAGE_UNCLEAR),
);

const heartbeat = v.pipe(
  v.strictObject(head),
  v.check((value) => isInOrder(value), OUT_OF_ORDER),
  v.check((value) => isSentAfterScan(value), SENT_EARLY),
  v.check((value) => isCoverageInOrder(value), COVERAGE_UNCLEAR),
);

/** The state of a node as its agent reports it. */
export type NodeReport = v.InferOutput<typeof report>;
/** A report without the state, sent when that has not changed since the generation that it names. */
export type NodeHeartbeat = v.InferOutput<typeof heartbeat>;
/** What an agent sends. */
export type NodeMessage = NodeReport | NodeHeartbeat;
/** The end of one pod's use of one volume on a node: an interval, and an ID that stays the same however often it is sent. */
export type UnmountRecord = v.InferOutput<typeof unmountRecord>;
/** A time in which an agent did not watch, on the boot clock. */
export type AgentGap = v.InferOutput<typeof agentGap>;
/** A moment of the boot clock, and a lower bound of its wall time. */
export type ClockSample = v.InferOutput<typeof clockSample>;
/** Begin and end of a scan of the mount table. */
export type ScanSpan = v.InferOutput<typeof scan>;

/** An agent drops fields that it does not know: a newer aggregator may send more. */
const answer = v.object({
  /** IDs of unmount records that can no longer change any status and may leave the journal. */
  forget: v.array(v.string()),
  /** A pod of the node ended at this resource version: the agent has to scan again once its watch has reached it. */
  reach: v.optional(v.pipe(v.string(), v.regex(/^[0-9]{1,20}$/))),
  /** The agent has to scan the mount table now, and to report with this as `scanRequest`: its last scan is too old. */
  scanRequest: v.optional(scanRequest),
  /** The aggregator does not know the state, or ignored the message as it is too old: the next one has to be whole. */
  whole: v.optional(v.literal(true)),
  /** The leader session, which the agent names in its next report. */
  session: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
  /** The API server's wall clock when the message came, never too late. */
  nowMs: v.optional(moment),
  /** Why agents may reject no pod, for people to read; in every answer as long as that is so. */
  pauseRejections: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1024))),
});

/** What the aggregator answers to an accepted report. */
export type ReportAnswer = v.InferOutput<typeof answer>;

/** The path of a node's reports. `base` comes before it, without a slash at its end. */
export function reportPath(base: string, node: string): string {
  return `${base}/v1/nodes/${encodeURIComponent(node)}/report`;
}

/** A decoded value, or its problems: one line each, with the path of the field. */
export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Stops at the first fault: in a body that is wrong throughout, each fault would take more memory than the body. */
function decode<T>(schema: v.GenericSchema<unknown, T>, input: unknown, path = ""): Decoded<T> {
  const result = v.safeParse(schema, input, { abortEarly: true });
  if (result.success) return { ok: true, value: result.output };
  const [issue] = result.issues;
  const field = [path, v.getDotPath(issue)].filter((part) => part).join(".") || "body";
  return { ok: false, problems: [`${field}: ${issue.message}`] };
}

/** Reads a report or a heartbeat from parsed JSON. Refuses unknown fields: a newer agent must not be half understood. */
export function decodeNodeMessage(input: unknown): Decoded<NodeMessage> {
  const steps = decodeInSteps(input);
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** The same, entry by entry: other tasks may run in between. Entries are counted before the first one is decoded. */
export function* decodeInSteps(input: unknown): Generator<undefined, Decoded<NodeMessage>> {
  if (typeof input !== "object" || input === null || !("mountedVolumes" in input || "unmountRecords" in input))
    return decode(heartbeat, input);
  const [mountedVolumes, unmountRecords] = [entriesIn(input, "mountedVolumes"), entriesIn(input, "unmountRecords")];
  if (mountedVolumes.length + unmountRecords.length > MAX_REPORT_ENTRIES)
    return { ok: false, problems: [`body: at most ${MAX_REPORT_ENTRIES} mounted volumes and unmount records`] };
  if (unmountRecords.length > MAX_REPORT_UNMOUNT_RECORDS)
    return { ok: false, problems: [`body: at most ${MAX_REPORT_UNMOUNT_RECORDS} unmount records`] };
  const rest = {
    ...(mountedVolumes.length > 0 && { mountedVolumes: [] }),
    ...(unmountRecords.length > 0 && { unmountRecords: [] }),
  };
  const whole = decode(report, { ...input, ...rest });
  if (!whole.ok) return whole;
  const held = yield* decodeEach(mountedVolume, mountedVolumes, "mountedVolumes");
  if (!held.ok) return held;
  const released = yield* decodeEach(unmountRecord, unmountRecords, "unmountRecords");
  if (!released.ok) return released;
  return { ok: true, value: { ...whole.value, mountedVolumes: held.value, unmountRecords: released.value } };
}

function* decodeEach<T>(
  schema: v.GenericSchema<unknown, T>,
  entries: readonly unknown[],
  name: string,
): Generator<undefined, Decoded<T[]>> {
  const values: T[] = [];
  for (const [index, entry] of entries.entries()) {
    const one = decode(schema, entry, `${name}.${index}`);
    if (!one.ok) return one;
    values.push(one.value);
    yield;
  }
  return { ok: true, value: values };
}

function entriesIn(input: object, name: "mountedVolumes" | "unmountRecords"): readonly unknown[] {
  const list: unknown = Reflect.get(input, name);
  return Array.isArray(list) ? list : [];
}

/** True for a report, which has the state; false for a heartbeat. */
export function isReport(message: NodeMessage): message is NodeReport {
  return "mountedVolumes" in message;
}

/** Reads the aggregator's answer from parsed JSON. */
export function decodeReportAnswer(input: unknown): Decoded<ReportAnswer> {
  return decode(answer, input);
}
