import { hash } from "node:crypto";
import * as v from "valibot";
import { MAX_AGENT_GAPS, REPORT_PARTS, type UnmountRecord } from "../../common/storage/node-report.ts";
import type { JournalChanges } from "../core/journal-changes.ts";
import { mountedVolumeKey } from "../core/mounted-volumes.ts";
import type { KnownMountedVolume, NodeState } from "../core/node-state.ts";

/** The content of a journal's file cannot be trusted; the file can be set aside. */
export class DamagedFile extends Error {
  override readonly name = "DamagedFile";
}

/** A row of the journal: a mounted volume or an unmount record, by its key, or the one head. */
export interface Row {
  readonly kind: "head" | "mounted-volume" | "unmount-record";
  readonly key: string;
  readonly body: string;
}

/** A row to put, or one to drop. */
export type RowStep = { readonly put: Row } | { readonly drop: Omit<Row, "body"> };

const { stamp, uid, podName, volume, unmountRecord, scan, agentGap, clockSamples } = REPORT_PARTS;

const mountedVolumeBody = v.strictObject({
  kind: v.picklist(["pod", "subpath", "block", "staging"]),
  volume,
  podUid: v.optional(uid),
  pod: podName,
  mountPoint: v.string(),
  device: v.string(),
  since: stamp,
  seenAt: stamp,
  proven: v.boolean(),
  pendingUnmount: v.optional(v.strictObject({ by: stamp, podVersion: v.optional(v.string()), isAnomaly: v.boolean() })),
  leakedSince: v.optional(stamp),
});

const headBody = v.strictObject({
  node: v.string(),
  bootId: uid,
  clock: v.string(),
  run: v.string(),
  /** Absent in what an earlier version wrote. */
  isFirstBoot: v.optional(v.boolean(), false),
  generation: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  scan: v.optional(scan),
  agentGaps: v.pipe(v.array(agentGap), v.maxLength(MAX_AGENT_GAPS)),
  clockSamples: v.optional(clockSamples, []),
  /** The digest of all other rows: a row that is missing, old or changed is found. */
  digest: v.string(),
});

/** The rows that a change of state touches, but for the head. */
export function* rowsOf(changes: JournalChanges): Iterable<RowStep> {
  for (const key of changes.droppedMountedVolumes) yield { drop: { kind: "mounted-volume", key } };
  for (const key of changes.droppedUnmountRecords) yield { drop: { kind: "unmount-record", key } };
  for (const [key, known] of changes.mountedVolumes)
    yield { put: { kind: "mounted-volume", key, body: encodeMountedVolume(known) } };
  for (const one of changes.unmountRecords)
    yield { put: { kind: "unmount-record", key: one.id, body: JSON.stringify(one) } };
}

/** The head: the run, the last scan, and the digest of the other rows. It has its own checksum. */
export function headRow(node: string, state: NodeState, digest: string): Row {
  const { bootId, clock, run, isFirstBoot, generation, scan, agentGaps, clockSamples } = state;
  const text = JSON.stringify({
    node,
    bootId,
    clock,
    run,
    isFirstBoot,
    generation,
    scan,
    agentGaps,
    clockSamples,
    digest,
  });
  return { kind: "head", key: "", body: `${hash("sha256", text)} ${text}` };
}

/** Without the folder of the device: the next scan shows it, and earlier versions could not read a row that has it. */
function encodeMountedVolume({ mountedVolume, root: _, ...known }: KnownMountedVolume): string {
  return JSON.stringify({ ...mountedVolume, ...known });
}

/** Every row of a journal as a state; undefined for an empty journal. Throws `DamagedFile` when they do not belong together. */
export async function stateIn(
  rows: readonly Row[],
  { digest, pause }: { readonly digest: string; readonly pause: () => Promise<void> | undefined },
): Promise<{ readonly node: string; readonly state: NodeState } | undefined> {
  if (rows.length === 0) return undefined;
  const head = decodeHead(rows.find(({ kind }) => kind === "head")?.body ?? "");
  if (head.digest !== digest) throw new DamagedFile("its rows do not belong together");
  const { node, bootId, clock, run, isFirstBoot, generation, agentGaps, clockSamples } = head;
  const mountedVolumes = new Map<string, KnownMountedVolume>();
  const unmountRecords: UnmountRecord[] = [];
  for (const row of rows) {
    if (row.kind === "unmount-record") unmountRecords.push(decode(unmountRecord, row.body));
    const known = row.kind === "mounted-volume" ? decodeMountedVolume(row) : undefined;
    if (known !== undefined) mountedVolumes.set(mountedVolumeKey(known.mountedVolume), known);
    await pause();
  }
  const state: NodeState = {
    ...{ bootId, clock, run, isFirstBoot, generation, agentGaps, clockSamples, mountedVolumes },
    unmountRecords: unmountRecords.toSorted((one, other) => one.by - other.by),
    scan: head.scan,
    podsResourceVersion: undefined,
    coverage: "none",
  };
  return { node, state };
}

function decodeHead(body: string): v.InferOutput<typeof headBody> {
  const [sum, text = ""] = [body.slice(0, 64), body.slice(65)];
  if (sum !== hash("sha256", text)) throw new DamagedFile("its head is damaged");
  return decode(headBody, text);
}

function decodeMountedVolume({ body }: Row): KnownMountedVolume {
  const { kind, volume, podUid, pod, pendingUnmount, leakedSince, ...rest } = decode(mountedVolumeBody, body);
  return {
    mountedVolume: { kind, volume, podUid },
    pod,
    root: undefined,
    pendingUnmount: pendingUnmount && { ...pendingUnmount, podVersion: pendingUnmount.podVersion },
    leakedSince,
    ...rest,
  };
}

function decode<T>(schema: v.GenericSchema<unknown, T>, text: string): T {
  const result = v.safeParse(schema, parse(text), { abortEarly: true });
  if (!result.success) throw new DamagedFile(`a row is not understood: ${result.issues[0].message}`);
  return result.output;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A checksum of a set of rows that can be updated for one row without reading the others. */
export class RowDigest {
  readonly #sums = new Map<string, Buffer>();
  readonly #total = Buffer.alloc(32);

  put({ kind, key, body }: Row): void {
    this.drop({ kind, key });
    const sum = hash("sha256", `${kind}\0${key}\0${body}`, "buffer");
    this.#sums.set(`${kind}\0${key}`, sum);
    this.#mix(sum);
  }

  drop({ kind, key }: Omit<Row, "body">): void {
    const name = `${kind}\0${key}`;
    const sum = this.#sums.get(name);
    if (sum === undefined) return;
    this.#sums.delete(name);
    this.#mix(sum);
  }

  #mix(sum: Buffer): void {
    for (const [index, byte] of sum.entries()) this.#total[index] = (this.#total[index] ?? 0) ^ byte;
  }

  get text(): string {
    return `${this.#sums.size}-${this.#total.toString("hex")}`;
  }
}
