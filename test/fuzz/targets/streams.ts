import { createKubeClient } from "../../../common/kube/client.ts";
import { readIdentity } from "../../../common/kube/identity.ts";
import { list } from "../../../common/kube/list.ts";
import { isEndOfList } from "../../../common/kube/watch.ts";
import { readWatch, versionOf, type WatchEvent } from "../../../common/kube/watch-stream.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport } from "../../fakes/transport.ts";
import { CLAIM, NODE, POD, STATUS } from "../seeds.ts";
import { type FuzzTarget, inputOf, promise, unless } from "../target.ts";

const BOOKMARK = {
  metadata: { resourceVersion: "300", annotations: { "k8s.io/initial-events-end": "true" } },
};
const EVENTS = [
  { type: "ADDED", object: POD },
  { type: "MODIFIED", object: CLAIM },
  { type: "DELETED", object: NODE },
  { type: "BOOKMARK", object: BOOKMARK },
  { type: "ERROR", object: STATUS },
];

const isBroken = (error: unknown): boolean => error instanceof MooringError;

/** The body of a watch, cut anywhere. */
export const watchStream: FuzzTarget = {
  name: "watch-stream",
  about: "the lines of a watch, from the API server or what stands before it",
  seeds: [
    inputOf(EVENTS.map((event) => `${JSON.stringify(event)}\n`).join("")),
    inputOf(
      `${JSON.stringify({ type: "ADDED", object: { metadata: { name: "täglich-🚢", resourceVersion: "1" } } })}\n`,
    ),
  ],
  words: [
    '"type":',
    "ADDED",
    "MODIFIED",
    "DELETED",
    "BOOKMARK",
    "ERROR",
    '"object":',
    "\n",
    "\r\n",
    "\u00ef\u00bb\u00bf",
    "\u00ff",
  ],
  take: async (input) => {
    const whole = await readAll(input, input.length);
    const inBytes = await readAll(input, 1 + (input.charCodeAt(0) % 7 || 0));
    promise(JSON.stringify(inBytes) === JSON.stringify(whole), "where a stream is cut changes nothing");
    for (const event of whole.events) {
      unless(isBroken, () => versionOf(event));
      isEndOfList(event);
      readIdentity(event.object);
    }
  },
};

async function readAll(
  input: string,
  size: number,
): Promise<{ readonly events: readonly WatchEvent[]; readonly end: string }> {
  const events: WatchEvent[] = [];
  try {
    for await (const event of readWatch(chunks(input, size))) events.push(event);
    return { events, end: "in order" };
  } catch (error) {
    if (!isBroken(error)) throw error;
    return { events, end: String(error) };
  }
}

async function* chunks(input: string, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < input.length; at += size) yield Buffer.from(input.slice(at, at + size), "latin1");
}

const PAGE = { metadata: { resourceVersion: "300", continue: "next" }, items: [POD] };
const LAST = { metadata: { resourceVersion: "301" }, items: [CLAIM, null] };

/** The pages of a list, one line each; the first character chooses the status. */
export const listPages: FuzzTarget = {
  name: "list-pages",
  about: "the pages of a list and refusals, from the API server or what stands before it",
  seeds: [
    ...[`0${JSON.stringify(PAGE)}\n0${JSON.stringify(LAST)}`, `0${JSON.stringify(PAGE)}\n1${JSON.stringify(STATUS)}`],
    ...["2<html>", "3"],
  ].map(inputOf),
  words: ["metadata", "items", "continue", "resourceVersion", "retryAfterSeconds", "causes", "<html>"],
  take: async (input) => {
    const answers = input.split("\n").map(answerOf);
    const transport = createFakeTransport((_, index) => answers[index] ?? { status: 500 });
    const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
    const collection = { path: "/api/v1/pods", listsFrom: "quorum" } as const;
    const signal = new AbortController().signal;
    let pages = 0;
    try {
      await list(client, { collection, query: { limit: "500" }, signal }, () => {
        pages += 1;
      });
    } catch (error) {
      if (!isBroken(error)) throw error;
    }
    promise(pages <= answers.length, "no page comes that was not sent");
  },
};

const STATUSES = [200, 410, 502, 204, 429, 301];

function answerOf(line: string): {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const status = STATUSES[line.charCodeAt(0) % STATUSES.length] ?? 200;
  return { status, headers: { "retry-after": line.slice(1, 4) }, body: line.slice(1) };
}
