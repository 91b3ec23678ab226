import type { KubeParts } from "../../common/kube/client.ts";
import { NO_ANNOTATIONS, type VolumeAnnotations } from "../../common/storage/volume-annotations.ts";
import type { Volume } from "../core/cluster-objects.ts";
import { changesTo } from "../core/volumes/annotations.ts";
import type { VolumeWriter } from "../sinks/volume-writer.ts";
import { WriteGate } from "./write-gate.ts";

interface VolumeWritesParts extends Omit<KubeParts, "client"> {
  readonly writer: VolumeWriter;
}

type StoredVolume = Volume & { readonly resourceVersion: string };

/** A missing permission is tried again as slowly as a refusal. */
const OUTCOMES = { forbidden: "refused", overloaded: "failed" } as const;

/** Writes the annotations of volumes: one write per transition. */
export class VolumeWrites {
  readonly #parts: VolumeWritesParts;
  readonly #gate: WriteGate;

  constructor(parts: VolumeWritesParts) {
    this.#parts = parts;
    this.#gate = new WriteGate(parts);
  }

  forget(name: string): void {
    this.#gate.rest(name);
  }

  /** One attempt, if one is due. Answers after how many milliseconds to come again; nothing when nothing is left to write. */
  async bring(volume: StoredVolume, desired: VolumeAnnotations, signal: AbortSignal): Promise<number | undefined> {
    const changes = changesTo(volume, desired);
    if (changes === undefined) return void this.forget(volume.key);
    const { logger, writer } = this.#parts;
    const { key, uid, resourceVersion, annotations = NO_ANNOTATIONS } = volume;
    const content = textOf(desired);
    const attempt = { key, uid, resourceVersion, current: textOf(annotations), content, isNews: false };
    const waitMs = this.#gate.restBefore(attempt);
    if (waitMs > 0) return waitMs;
    const result = await writer(volume, changes, signal);
    if (signal.aborted) return undefined;
    if (result.kind === "written") {
      this.#gate.written(attempt, content);
      this.#logWritten(volume, desired);
      return undefined;
    }
    const { kind, message } = result;
    const times = this.#gate.failed(
      attempt,
      kind === "forbidden" || kind === "overloaded" ? OUTCOMES[kind] : kind,
      "retryAfterMs" in result ? result.retryAfterMs : 0,
    );
    const restMs = this.#gate.restBefore(attempt);
    const fields = { volume: `name/${key}`, outcome: kind, err: message, waitMs: Math.round(restMs) };
    if (kind === "stale" || times > 1) logger.debug(fields, "volume not written again, will be tried again");
    else logger.warn(fields, "volume not written, will be tried again");
    return restMs;
  }

  #logWritten({ key, annotations = NO_ANNOTATIONS }: Volume, { mountedOn, lastUse }: VolumeAnnotations): void {
    const { logger } = this.#parts;
    const fields = { volume: `name/${key}` };
    if (mountedOn !== annotations.mountedOn)
      logger.info(fields, mountedOn === undefined ? "mark of a mounted volume removed" : "volume marked as mounted");
    if (lastUse !== annotations.lastUse)
      logger.info(fields, lastUse === undefined ? "last use of a volume removed" : "last use written to a volume");
  }
}

function textOf({ mountedOn, lastUse }: VolumeAnnotations): string {
  return JSON.stringify([mountedOn, lastUse]);
}
