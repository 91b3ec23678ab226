import { MooringError, messageOf } from "../runtime/errors.ts";
import { ApiError, type KubeParts } from "./client.ts";

/** What happened to an object, for people who describe it. */
export interface KubeEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: "Normal" | "Warning";
  /** A constant word in CamelCase. */
  readonly reason: string;
  /** What was done or seen, a constant word in CamelCase. */
  readonly action: string;
  /** A sentence, at most 1,024 characters. */
  readonly note: string;
  /** The moment, as `formatMicroTime` writes it. */
  readonly eventTime: string;
  /**
   * Makes it one event, however often and by whichever process it is emitted, as long as the API server keeps it (an hour unless told):
   * lower-case letters, digits and `-`, at most 60, unique among the events on objects of this name.
   */
  readonly once?: string | undefined;
}

/** Writes events (events.k8s.io/v1), one after the other. An event that cannot be written is lost: events are a courtesy. */
export interface EventRecorder {
  readonly emit: (event: KubeEvent) => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** More than this wait for the API server only when something goes badly wrong. */
const MAX_WAITING = 100;
const LONGEST_IDLE_MS = 3_600_000;

/** `controller` is who speaks, `instance` which of them. */
export function createEventRecorder(
  { client, clock, random, logger }: KubeParts,
  { controller, instance }: { readonly controller: string; readonly instance: string },
): EventRecorder {
  const waiting: KubeEvent[] = [];
  let woken = new AbortController();

  const write = async ({ once, ...event }: KubeEvent, signal: AbortSignal): Promise<void> => {
    const { namespace, name } = event.regarding;
    const metadata = { namespace, name: nameOf(name, once ?? random.id().slice(0, 16)) };
    const speaker = { reportingController: controller, reportingInstance: instance };
    const body = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata,
      ...speaker,
      ...event,
      note: event.note.slice(0, 1024),
    };
    await client.request(
      { method: "POST", path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, body },
      signal,
    );
  };

  return {
    emit: (event) => {
      if (waiting.length < MAX_WAITING) waiting.push(event);
      else logger.warn({ reason: event.reason }, "event dropped, too many are waiting");
      woken.abort("woken");
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const event = waiting.shift();
        if (event === undefined) {
          woken = new AbortController();
          await clock.sleep(LONGEST_IDLE_MS, AbortSignal.any([signal, woken.signal]));
          continue;
        }
        await write(event, signal).catch((error: unknown) => {
          if (!(error instanceof MooringError)) throw error;
          if (event.once !== undefined && isThereAlready(error)) return;
          if (!signal.aborted) logger.warn({ reason: event.reason, err: messageOf(error) }, "event not written");
        });
      }
    },
  };
}

/** At most 253 characters, as every name of an object. A name that is cut must not end with a dot or dash before the next dot. */
function nameOf(object: string, suffix: string): string {
  return `${object.slice(0, 192).replace(/[.-]+$/, "")}.${suffix}`;
}

function isThereAlready(error: MooringError): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason === "AlreadyExists";
}
