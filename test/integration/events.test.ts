import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createEventRecorder, type EventRecorder } from "../../common/kube/events.ts";
import type { KubeEvent } from "../../common/kube/kube-event.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeLogger } from "../fakes/logger.ts";

const never = new AbortController().signal;
const EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events";
const eventList = v.object({
  items: v.array(
    v.looseObject({
      note: v.string(),
      series: v.optional(v.object({ count: v.number(), lastObservedTime: v.string() })),
    }),
  ),
});

let client: KubeClient;
beforeAll(async () => {
  const connection = await connect({ kubeconfig: inject("kubeconfig"), inCluster: false }, {});
  client = createKubeClient(connection, { clock: createSystemClock() });
});
afterAll(() => client.close());

/** A pod that the API server need not have: events outlive what they are about. */
function eventAbout(name: string, second: number): KubeEvent {
  return {
    regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name, uid: `uid-of-${name}` },
    type: "Warning",
    reason: "VolumeUnmountedWhileRunning",
    action: "Observed",
    note: "Volume pv-1 was unmounted while the pod runs",
    eventTime: `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000Z`,
  };
}

/** Emits each event when the one before it is written. */
async function emitAll(events: readonly KubeEvent[]) {
  const [clock, logger, stop] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const outcomes: string[] = [];
  let told = (): void => {};
  const counter = {
    increment: ({ outcome }: { readonly outcome: string }): void => {
      outcomes.push(outcome);
      told();
    },
  };
  const parts = { client, clock, logger, random: createSystemRandom() };
  const speaker = { controller: "mooring.dev/test", instance: "n1", outcomes: counter };
  const recorder: EventRecorder = createEventRecorder(parts, speaker);
  const running = recorder.run(stop.signal);
  for (const event of events) {
    const one = Promise.withResolvers<void>();
    told = one.resolve;
    recorder.emit(event);
    await one.promise;
    // The count of a series is written at most once a minute.
    clock.pass(61_000);
  }
  stop.abort();
  await running;
  return { outcomes, logger };
}

async function eventsOf(name: string): Promise<v.InferOutput<typeof eventList>["items"]> {
  const { items } = v.parse(eventList, await client.request({ method: "GET", path: EVENTS }, never));
  return items.filter((item) => JSON.stringify(item).includes(`uid-of-${name}`));
}

describe("events that repeat, on a real API server", () => {
  it("are one event with a series, whose count and last time the API server takes", async () => {
    const events = [0, 1, 2, 3].map((second) => eventAbout("repeats", second));

    const { outcomes, logger } = await emitAll(events);

    expect(logger.messages("warn")).toEqual([]);
    expect(outcomes).toEqual(["written", "repeated", "repeated", "repeated"]);
    expect(await eventsOf("repeats")).toMatchObject([
      {
        eventTime: "2026-01-01T00:00:00.000000Z",
        series: { count: 4, lastObservedTime: "2026-01-01T00:00:03.000000Z" },
      },
    ]);
  });

  it("are one event without a series when they are one by their name", async () => {
    const events = [0, 1].map((second) => ({ ...eventAbout("once", second), once: "uid-of-once-rejected" }));

    const { outcomes } = await emitAll(events);

    expect(outcomes).toEqual(["written", "known"]);
    expect((await eventsOf("once")).map(({ series }) => series)).toEqual([undefined]);
  });
});
