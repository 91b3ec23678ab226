import type { Clock } from "../runtime/clock.ts";
import { MooringError } from "../runtime/errors.ts";
import type { KubeClient } from "./client.ts";
import type { ServerTime } from "./server-clock.ts";

/** What asking for the date takes. */
export interface ServerTimeParts {
  readonly client: Pick<KubeClient, "request" | "serverTime">;
  readonly clock: Clock;
}

/** Bounds this wide are narrow enough: a tenth of what whole seconds cost anyway. Milliseconds. */
const WIDE_MS = 100;
/** In so long they widen by less than a tenth of that; only a server whose clock differs makes them wide at once. */
const LOOK_MS = 5_000;
/** After a request that told nothing: the way there and back takes too long, or there was no answer. */
const REST_MS = 60_000;

/** After how many milliseconds a request tells most: when the middle of what the server's clock may show is a whole second. */
export function halvingDelayMs({ latestMs, widthMs }: ServerTime): number {
  return (1_000 - ((latestMs - widthMs / 2) % 1_000)) % 1_000;
}

/**
 * Keeps the bounds of the API server's clock narrow until the signal is aborted. Dates have whole seconds, so the few answers after
 * a start leave bounds of up to a second, which every published time would be later by. Each request at the right moment halves them.
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
    // A refusal is dated as well; where no answer came, others find out and say so.
    if (!(error instanceof MooringError) && !signal.aborted) throw error;
  }
}

function isNarrower(now: ServerTime | undefined, before: ServerTime | undefined): boolean {
  if (now === undefined || before === undefined) return now !== undefined;
  return now.widthMs <= WIDE_MS || now.widthMs < before.widthMs * 0.8;
}
