import { queryObjects } from "node:v8";
import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { settle } from "../../fakes/clock.ts";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const HOUR_S = 3_600;
/** The other replica renews the Lease this often. */
const RENEWAL_S = 10;
/** What a day's 8,280 renewals would leave behind is eight times as much. */
const MOST_GROWTH = 1_000;

/** A turn of Node.js's own loop: none of the product's time passes. */
function immediately(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.once("message", () => {
      port1.close();
      resolve();
    });
    port2.postMessage(undefined);
  });
}

type Aggregator = Awaited<ReturnType<typeof startAggregator>>;

/** Lets the time pass, and answers how many objects this process has afterwards, whatever they are part of. */
async function objectsAfter(
  { clock, api, logger }: Aggregator,
  { seconds, renew }: { readonly seconds: number; readonly renew: () => void },
): Promise<number> {
  for (let passed = 0; passed < seconds; passed += RENEWAL_S) {
    renew();
    await clock.advance(RENEWAL_S * 1_000);
  }
  await settle();
  api.transport.forget();
  logger.forget();
  // A count collects garbage first; what Node.js cleans up because of that it does in turns of its own.
  queryObjects(Object, { format: "count" });
  for (let turn = 0; turn < 10; turn += 1) await immediately();
  return queryObjects(Object, { format: "count" });
}

describe("what an aggregator keeps", () => {
  it.each([
    { name: "a standby", holder: "aggregator-1_other" },
    { name: "a leader", holder: undefined },
  ])(
    "does not grow from an hour to a day: $name",
    async ({ holder }) => {
      const aggregator = await startAggregator();
      const renew = (): void => {
        if (holder !== undefined) aggregator.api.renewLease(holder);
      };

      const afterHour = await objectsAfter(aggregator, { seconds: HOUR_S, renew });
      const afterDay = await objectsAfter(aggregator, { seconds: 23 * HOUR_S, renew });

      expect((await aggregator.server.get("/readyz?verbose")).body).toContain(holder ?? "this one leads");
      expect(afterDay - afterHour).toBeLessThan(MOST_GROWTH);
    },
    900_000,
  );
});
