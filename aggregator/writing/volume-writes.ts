import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Random } from "../../common/runtime/random.ts";
import { NO_ANNOTATIONS, type VolumeAnnotations } from "../../common/storage/volume-annotations.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { changesTo } from "../core/volume-annotations.ts";
import { type Attempts, isUnchanged, nextAttempts, restBefore, type Trouble } from "../core/write-back-off.ts";
import type { VolumeWriteResult, VolumeWriter } from "../sinks/volume-writer.ts";

interface VolumeWritesParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly writer: VolumeWriter;
}

type StoredVolume = Volume & { readonly resourceVersion: string };

/** What is remembered of a volume's writes. */
interface Memory {
  readonly uid: string;
  /** The state that was written on, or that turned out to be old: what came of it the watch is about to show. */
  spent?: string;
  trouble?: Trouble | undefined;
  /** What was written last, and how often in a row. */
  last?: { readonly text: string; readonly attempts: Attempts };
}

/** Of so many volumes the last write is remembered: who keeps changing it back does so soon. */
const MOST_MEMORIES = 20_000;

/** Writes the annotations of volumes: one write per transition, the same again only after a wait that grows. */
export class VolumeWrites {
  readonly #parts: VolumeWritesParts;
  /** By name, oldest first. */
  readonly #memories = new Map<string, Memory>();

  constructor(parts: VolumeWritesParts) {
    this.#parts = parts;
  }

  forget(name: string): void {
    this.#memories.delete(name);
  }

  /** Brings a volume to what is desired. Answers after how many milliseconds to look again; nothing where a change of the volume tells. */
  async bring(volume: StoredVolume, desired: VolumeAnnotations, signal: AbortSignal): Promise<number | undefined> {
    const changes = changesTo(volume, desired);
    if (changes === undefined) return undefined;
    const memory = this.#of(volume);
    if (memory.spent === volume.resourceVersion) return undefined;
    const text = JSON.stringify(desired);
    const restMs = this.#restBefore(memory, volume, text);
    if (restMs > 0) return restMs;
    const result = await this.#parts.writer(volume, changes, signal);
    if (signal.aborted) return undefined;
    if (result.kind !== "written" && result.kind !== "stale") return this.#onTrouble(memory, volume, result);
    memory.spent = volume.resourceVersion;
    memory.trouble = undefined;
    if (result.kind === "written") this.#onWritten(memory, volume, desired);
    return undefined;
  }

  #of({ key, uid }: Volume): Memory {
    const known = this.#memories.get(key);
    const memory = known?.uid === uid ? known : { uid };
    this.#memories.delete(key);
    this.#memories.set(key, memory);
    const [oldest] = this.#memories.size > MOST_MEMORIES ? this.#memories.keys() : [];
    if (oldest !== undefined) this.forget(oldest);
    return memory;
  }

  #restBefore({ trouble, last }: Memory, { resourceVersion }: StoredVolume, text: string): number {
    const atMs = this.#parts.clock.monotonicMs();
    const hasChanged = trouble !== undefined && !isUnchanged(trouble, { resourceVersion, status: undefined });
    return Math.max(
      trouble === undefined ? 0 : restBefore(trouble, atMs, hasChanged),
      last?.text === text ? restBefore(last.attempts, atMs) : 0,
    );
  }

  /** The world may change: a permission that is missing, too, is tried again, slowly. */
  #onTrouble(
    memory: Memory,
    { key, resourceVersion }: StoredVolume,
    result: Exclude<VolumeWriteResult, { kind: "written" | "stale" }>,
  ): number {
    const { clock, random, logger } = this.#parts;
    const { kind, message } = result;
    const outcome = kind === "refused" || kind === "forbidden" ? "refused" : "failed";
    const retryAfterMs = "retryAfterMs" in result ? result.retryAfterMs : 0;
    const now = { outcome, atMs: clock.monotonicMs(), retryAfterMs, jitter: random.fraction() } as const;
    const before = memory.trouble;
    memory.trouble = { ...nextAttempts(before, now), resourceVersion, status: undefined };
    const waitMs = restBefore(memory.trouble, now.atMs);
    const fields = { volume: `name/${key}`, outcome: kind, err: message, waitMs: Math.round(waitMs) };
    if (before?.outcome === outcome) logger.debug(fields, "volume not written again, will be tried again");
    else logger.warn(fields, "volume not written, will be tried again");
    return waitMs;
  }

  #onWritten(memory: Memory, { key, annotations = NO_ANNOTATIONS }: Volume, desired: VolumeAnnotations): void {
    const { clock, logger } = this.#parts;
    const text = JSON.stringify(desired);
    const before = memory.last?.text === text ? memory.last.attempts : undefined;
    const now = { outcome: "written", atMs: clock.monotonicMs(), retryAfterMs: 0, jitter: 0.5 } as const;
    memory.last = { text, attempts: nextAttempts(before, now) };
    const { mountedOn, lastUse } = desired;
    const fields = { volume: `name/${key}` };
    if (mountedOn !== annotations.mountedOn)
      logger.info(fields, mountedOn === undefined ? "mark of a mounted volume removed" : "volume marked as mounted");
    if (lastUse !== annotations.lastUse)
      logger.info(fields, lastUse === undefined ? "last use of a volume removed" : "last use written to a volume");
  }
}
