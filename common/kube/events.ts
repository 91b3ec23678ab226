import { MooringError, messageOf } from "../runtime/errors.ts";
import type { Counter } from "../runtime/metrics.ts";
import { ApiError, type KubeParts } from "./client.ts";
import { EventSeries } from "./event-series.ts";
import type { KubeEvent } from "./kube-event.ts";

/** Outcome of an event: written as a new one, written or counted as a repetition, existing already, or lost. */
export const EVENT_OUTCOMES = ["written", "repeated", "known", "failed", "dropped"] as const;

/** Writes events (events.k8s.io/v1), one after the other. An event that cannot be written is lost: delivery is best effort. */
export interface EventRecorder {
  readonly emit: (event: KubeEvent) => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Longest queue of unwritten events: only a serious fault makes it longer. */
const MAX_WAITING = 100;
const LONGEST_IDLE_MS = 3_600_000;

/** The reporting controller. */
interface Reporter {
  readonly controller: string;
  /** The reporting instance. */
  readonly instance: string;
  /** Undefined where events are not counted. */
  readonly outcomes?: Counter<"outcome">;
}

export function createEventRecorder(parts: KubeParts, reporter: Reporter): EventRecorder {
  const { clock, logger } = parts;
  const waiting: KubeEvent[] = [];
  const writer = new EventWriter(parts, reporter);
  let wakeUp = new AbortController();

  return {
    emit: (event) => {
      if (waiting.length < MAX_WAITING) waiting.push(event);
      else {
        logger.warn({ reason: event.reason }, "event dropped, too many are waiting");
        reporter.outcomes?.increment({ outcome: "dropped" });
      }
      wakeUp.abort("woken");
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const event = waiting.shift();
        if (event === undefined) {
          wakeUp = new AbortController();
          await clock.sleep(LONGEST_IDLE_MS, AbortSignal.any([signal, wakeUp.signal]));
          continue;
        }
        await writer.write(event, signal);
      }
    },
  };
}

class EventWriter {
  readonly #parts: KubeParts;
  readonly #reporter: Reporter;
  readonly #series = new EventSeries();

  constructor(parts: KubeParts, reporter: Reporter) {
    this.#parts = parts;
    this.#reporter = reporter;
  }

  async write(event: KubeEvent, signal: AbortSignal): Promise<void> {
    const { logger } = this.#parts;
    try {
      const outcome = await this.#deliver(event, signal);
      this.#reporter.outcomes?.increment({ outcome });
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      const isKnown = event.once !== undefined && isThereAlready(error);
      this.#reporter.outcomes?.increment({ outcome: isKnown ? "known" : "failed" });
      if (!isKnown && !signal.aborted)
        logger.warn({ reason: event.reason, err: messageOf(error) }, "event not written");
    }
  }

  async #deliver(event: KubeEvent, signal: AbortSignal): Promise<(typeof EVENT_OUTCOMES)[number]> {
    const now = this.#parts.clock.monotonicMs();
    // An event with its own name is one object, however often it is emitted, so it is no series.
    const step = event.once === undefined ? this.#series.next(event, now) : ({ kind: "write" } as const);
    if (step.kind === "count") return "repeated";
    if (step.kind === "repeat" && (await this.#repeat(event, step, signal))) return "repeated";
    const path = await this.#create(event, signal);
    if (event.once === undefined) this.#series.written(event, path, now);
    return "written";
  }

  /** False when the Event no longer exists: the API server keeps them for an hour. */
  async #repeat(
    { eventTime, ...event }: KubeEvent,
    { path, count }: { readonly path: string; readonly count: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = { series: { count, lastObservedTime: eventTime } };
    try {
      await this.#parts.client.request({ method: "PATCH", path, body, contentType: MERGE_PATCH }, signal);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      this.#series.forget({ eventTime, ...event });
      return false;
    }
  }

  /** Returns its path. */
  async #create({ once, ...event }: KubeEvent, signal: AbortSignal): Promise<string> {
    const { client, random } = this.#parts;
    const { controller, instance } = this.#reporter;
    const { name: about } = event.regarding;
    // The namespace that the API server requires for events about cluster-scoped objects (k/k: pkg/apis/core/validation/events.go).
    const namespace = event.regarding.namespace || "default";
    const name = nameOf(about, once ?? random.id().slice(0, 16));
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const body = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace, name },
      reportingController: controller,
      reportingInstance: instance,
      ...event,
      note: cutToBytes(event.note, LONGEST_NOTE),
    };
    await client.request({ method: "POST", path, body }, signal);
    return `${path}/${name}`;
  }
}

/** The API server's limit: in bytes, although its message says characters (k/k: pkg/apis/core/validation/events.go, NoteLengthLimit). */
const LONGEST_NOTE = 1024;

/** The longest prefix of a text that fits into the bytes as UTF-8, without a partial character. */
function cutToBytes(text: string, most: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, most), { stream: true });
}

const MERGE_PATCH = "application/merge-patch+json";

/** At most 253 characters, like any object name. A shortened name must not have a dot or dash right before the next dot. */
function nameOf(object: string, suffix: string): string {
  return `${object.slice(0, 192).replace(/(?<=[^.-])[.-]+$/, "")}.${suffix}`;
}

function isThereAlready(error: MooringError): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason === "AlreadyExists";
}
