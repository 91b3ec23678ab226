import { type ByteTransport, type HttpRequest, readText } from "../../../common/kube/transport.ts";
import { readWatch, type WatchEvent } from "../../../common/kube/watch-stream.ts";
import { parseObject } from "../engine/api/json.ts";
import type { JsonObject } from "../engine/api/objects.ts";
import { createEngine } from "../engine/engine.ts";

/** An answer, reduced to what can be compared. */
export interface ServerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** An API server that gets one request after the other. */
export interface ServerUnderTest {
  readonly request: (request: HttpRequest) => Promise<ServerAnswer>;
  /** Collects `count` events of a watch, and then ends it. */
  readonly watch: (path: string, count: number) => Promise<readonly WatchEvent[]>;
}

/** Sends requests by a transport; `pump` advances time until a promise has settled. */
function serverOf(
  transport: ByteTransport,
  headers: HttpRequest["headers"],
  pump: <T>(wait: Promise<T>) => Promise<T>,
): ServerUnderTest {
  const send = (request: HttpRequest, signal: AbortSignal) =>
    transport.send({ ...request, headers: { ...headers, ...request.headers } }, signal);
  return {
    request: (request) =>
      pump(
        (async () => {
          const { status, headers: got, body, cancel } = await send(request, new AbortController().signal);
          const text = await readText({ status, headers: got, body, cancel });
          return { status, headers: got, body: parseObject(text) ?? {} };
        })(),
      ),
    watch: (path, count) =>
      pump(
        (async () => {
          const enough = new AbortController();
          const { body } = await send({ method: "GET", path, headers: { accept: "application/json" } }, enough.signal);
          const events: WatchEvent[] = [];
          for await (const event of readWatch(body)) {
            if (events.push(event) === count) break;
          }
          enough.abort();
          return events;
        })(),
      ),
  };
}

/** The real API server. */
export function realServer(transport: ByteTransport, authorization: string | undefined): ServerUnderTest {
  return serverOf(transport, authorization === undefined ? {} : { authorization }, (wait) => wait);
}

/** The simulated API server. */
export function simulatedServer(): ServerUnderTest {
  const engine = createEngine({ seed: 1 });
  return serverOf(engine.transport("asker"), {}, async (wait) => {
    const state = { isOver: false };
    const done = wait.finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) await engine.scheduler.runUntil(engine.scheduler.nowMs() + 50);
    return await done;
  });
}
