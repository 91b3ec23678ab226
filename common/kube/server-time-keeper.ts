import type { Clock } from "../runtime/clock.ts";
import { MooringError } from "../runtime/errors.ts";
import type { KubeClient } from "./client.ts";
import type { ServerTime } from "./server-clock.ts";

/** What a request for the server's date needs. */
export interface ServerTimeParts {
  readonly client: Pick<KubeClient, "request" | "serverTime">;
  readonly clock: Clock;
}

/** Bounds this narrow are good enough: a tenth of the error of whole seconds. Milliseconds. */
const WIDE_MS = 100;
/** In this time the bounds widen by less than a tenth of that; only a server with another clock widens them at once. */
const LOOK_MS = 5_000;
/** Wait after a request that did not narrow the bounds: the round trip takes too long, or there was no answer. */
const REST_MS = 60_000;

/** Milliseconds until a request narrows the bounds most: when the middle of the server's possible times is a whole second. */
export function halvingDelayMs({ latestMs, widthMs }: ServerTime): number {
  return (1_000 - ((latestMs - widthMs / 2) % 1_000)) % 1_000;
}

/**
 * Keeps the bounds of the API server's clock narrow until the signal is aborted. Dates have whole seconds, so the few answers after a start
 * leave bounds of up to a second, and every published time would be later by that much. Each request at the right moment halves the bounds.
 */
export async function keepServerTimeNarrow({ client, clock }: ServerTimeParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const before = client.serverTime();
    if (before !== undefined && before.widthMs <= WIDE_MS) {
      await clock.sleep(LOOK_MS, signal);
      continue;
    }
    if (before !== undefined) await clock.sleep(halvingDelayMs(before), signal);
    if (!signal.aborted) await askForDate(client, signal);
    if (!isNarrower(client.serverTime(), before)) await clock.sleep(REST_MS, signal);
  }
}

async function askForDate(client: ServerTimeParts["client"], signal: AbortSignal): Promise<void> {
  try {
    await client.request({ method: "GET", path: "/version" }, signal);
  } catch (error) {
    // A refusal has a date, too. Other requests notice and report a missing answer.
    if (!(error instanceof MooringError) && !signal.aborted) throw error;
  }
}

function isNarrower(now: ServerTime | undefined, before: ServerTime | undefined): boolean {
  if (now === undefined || before === undefined) return now !== undefined;
  return now.widthMs <= WIDE_MS || now.widthMs < before.widthMs * 0.8;
}
