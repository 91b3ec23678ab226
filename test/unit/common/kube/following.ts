import { onTestFinished } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import type { Collection } from "../../../../common/kube/collection.ts";
import { createInformer, type Informer } from "../../../../common/kube/informer.ts";
import type { StoreChange, Stored } from "../../../../common/kube/store.ts";
import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { createFakeByteStream, type FakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";

/** An informer of `/api/v1/things` before a server that answers as a script says. */

export interface Thing extends Stored {
  readonly text: string;
}

export function project(object: unknown): Thing {
  const { metadata, text = "" } = JSON.parse(JSON.stringify(object));
  if (typeof metadata.name !== "string" || text === "garbage") throw new Error("not a thing");
  return { key: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion, text };
}

export function thing(
  name: string,
  version: number,
  more: { readonly uid?: string; readonly text?: string } = {},
): { readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string } } {
  const { uid = `uid-${name}`, ...rest } = more;
  return { metadata: { name, uid, resourceVersion: String(version) }, ...rest };
}

export function listOf(version: number, ...items: readonly unknown[]): FakeAnswer {
  return json({ metadata: { resourceVersion: String(version) }, items });
}

/** A page of a list; `next` is what the following one is asked for with. */
export function page(version: number, next: string, ...items: readonly unknown[]): FakeAnswer {
  return json({ metadata: { resourceVersion: String(version), continue: next }, items });
}

export function status(code: number, message = "no", headers: Readonly<Record<string, string>> = {}): FakeAnswer {
  return { status: code, headers, body: JSON.stringify({ kind: "Status", code, message }) };
}

export const TOO_LARGE = {
  kind: "Status",
  code: 504,
  reason: "Timeout",
  message: "Timeout: Too large resource version: 99, current: 5",
  details: {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  },
};

export const END_OF_LIST = "k8s.io/initial-events-end";

export function bookmark(version: number, annotations: Readonly<Record<string, string>> = {}) {
  return { type: "BOOKMARK", object: { metadata: { resourceVersion: String(version), annotations } } };
}

/** What is asked of the server: a list, a list as a stream, a watch, whether it knows a version, or identities alone. */
export type Requests = "list" | "stream" | "watch" | "verify" | "check";

export interface Script {
  readonly lists: readonly FakeAnswer[];
  /** What the watches answer in turn; `open` is a stream that the test writes. */
  readonly watches?: readonly (FakeAnswer | "open")[];
  /** Answers to lists as a stream; without any the server refuses these. */
  readonly streams?: readonly (FakeAnswer | "open")[];
  readonly verifications?: readonly FakeAnswer[];
  readonly checks?: readonly FakeAnswer[];
  readonly listsFrom?: Collection["listsFrom"];
  /** Every random fraction; by default the highest. */
  readonly random?: number;
  readonly onChange?: (change: StoreChange<Stored>, informer: Pick<Informer<Stored>, "ensureAtLeast">) => void;
}

export function describeChange(change: StoreChange<Stored>): string {
  const { kind, object } = change;
  return `${kind} ${object.uid}@${object.resourceVersion}${change.kind === "deleted" ? ` gone at ${change.gone}` : ""}`;
}

function requestsOf({ path, headers }: HttpRequest, query: URLSearchParams): Requests {
  if (query.has("sendInitialEvents")) return "stream";
  if (query.has("watch")) return "watch";
  if (!headers.accept?.includes("PartialObjectMetadataList")) return "list";
  return path.includes("resourceVersionMatch=NotOlderThan") ? "verify" : "check";
}

interface Request {
  readonly what: Requests;
  /** Milliseconds since the begin. */
  readonly at: number;
  readonly query: URLSearchParams;
}

/** A server that answers in turn, for each kind of request; the last answer of a kind for ever. */
function scripted(script: Script, nowMs: () => number) {
  const streams: FakeByteStream[] = [];
  const times: Request[] = [];
  const answers: Readonly<Record<Requests, readonly (FakeAnswer | "open")[]>> = {
    list: script.lists,
    stream: script.streams ?? [],
    watch: script.watches ?? ["open"],
    verify: script.verifications ?? [listOf(0)],
    check: script.checks ?? [],
  };
  const server = (request: HttpRequest): FakeAnswer => {
    const query = new URL(request.path, "http://x").searchParams;
    const what = requestsOf(request, query);
    const count = times.filter((one) => one.what === what).length;
    times.push({ what, at: nowMs(), query });
    const answer = answers[what][Math.min(count, answers[what].length - 1)] ?? "silence";
    if (answer !== "open") return answer;
    const stream = createFakeByteStream();
    streams.push(stream);
    return { body: stream };
  };
  const transport = createFakeTransport(server, { streamsLists: script.streams !== undefined });
  return { transport, times, last: (): FakeByteStream => streams.at(-1) ?? createFakeByteStream() };
}

export async function follow(script: Script) {
  const { listsFrom = "quorum", random = 1, onChange = () => {} } = script;
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const begin = clock.monotonicMs();
  const { transport, times, last } = scripted(script, () => clock.monotonicMs() - begin);
  const changes: string[] = [];
  let replaced = 0;
  let projected = 0;
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const informer = createInformer<Thing, "text">(
    // With the highest fraction each wait is the whole of 200, 400, 800 ms and so on, and a watch lasts 10 minutes.
    { client, clock, logger, random: createFixedRandom(random) },
    {
      collection: { path: "/api/v1/things", query: { fieldSelector: "a=b" }, listsFrom },
      project: (object) => {
        projected += 1;
        return project(object);
      },
      indexes: { text: ({ text }) => (text === "" ? [] : [text]) },
      onChange: (change) => {
        changes.push(describeChange(change));
        onChange(change, informer);
      },
      onReplaced: () => {
        replaced += 1;
      },
    },
  );
  const stop = new AbortController();
  const ended = informer.run(stop.signal).catch((error: unknown) => error);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  await settle();
  /** What was asked, with the versions. */
  const requests = (): readonly string[] =>
    times.map(({ what, query }) => [what, query.get("resourceVersion")].filter(Boolean).join(" "));
  const counts = { replaced: () => replaced, projected: () => projected };
  return { clock, logger, informer, stop, ended, changes, times, requests, last, ...counts };
}
