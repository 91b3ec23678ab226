import type { HttpRequest } from "../../common/kube/transport.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import { httpDate } from "../simulation/engine/times.ts";
import { createFakeByteStream, type FakeByteStream } from "./byte-stream.ts";
import { createFakeTransport, type FakeAnswer, type FakeTransport, json } from "./transport.ts";

/** How an API server is away: it refuses connections, takes requests and never answers, or a proxy answers in its place. */
export type Absence = "broken" | "silence" | "unavailable";

interface FakeLease {
  readonly metadata: object;
  readonly spec?: object;
}

interface FakeObject {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec?: object;
  readonly [field: string]: unknown;
}

/** An API server with a few objects that never change but for one Lease and one ConfigMap, and that can go away. */
export interface FakeApiServer {
  readonly transport: FakeTransport;
  /** Ends all watches, and answers nothing until it is back. */
  readonly goAway: (how: Absence) => void;
  readonly comeBack: () => void;
  /** Another process renews the Lease. */
  readonly renewLease: (holder: string) => void;
  /** Sends an event to every watch of `path`. */
  readonly sendEvent: (path: string, event: unknown) => void;
}

/** `objects` are lists by the end of their path, such as `pods`; of `leases` and `configmaps` the first one is there. */
export function createFakeApiServer(
  clock: Pick<Clock, "sleep" | "wallMs">,
  objects: Readonly<Record<string, readonly FakeObject[]>> = {},
): FakeApiServer {
  let absence: Absence | undefined;
  const watches = new Set<{ readonly path: string; readonly stream: FakeByteStream }>();
  const lease = createFakeLease(objects.leases?.[0]);
  const written = [
    ["/leases", lease.answer] as const,
    ["/configmaps/", createFakeConfigMap(objects.configmaps?.[0])] as const,
  ];
  const answer = (request: HttpRequest): FakeAnswer => {
    if (absence !== undefined) return ABSENT[absence];
    const { pathname, searchParams } = new URL(request.path, "https://fake");
    if (searchParams.get("watch") === "true") {
      const stream = createFakeByteStream();
      const watch = { path: pathname, stream };
      watches.add(watch);
      const timeoutSeconds = Number(searchParams.get("timeoutSeconds") ?? 300);
      void clock.sleep(timeoutSeconds * 1_000).then(() => {
        watches.delete(watch);
        stream.end();
      });
      return { body: stream };
    }
    const [, own] = written.find(([part]) => pathname.includes(part)) ?? [];
    if (own !== undefined) return own(request);
    if (request.method !== "GET") return json(JSON.parse(request.body ?? "{}"));
    if (pathname === "/version") return json({ major: "1", minor: "36" });
    const items = (objects[pathname.split("/").at(-1) ?? ""] ?? []).filter(isSelected(searchParams));
    return json(pageOf(items, searchParams));
  };
  return {
    transport: createFakeTransport((request) => dated(answer(request), clock.wallMs())),
    goAway: (how) => {
      absence = how;
      for (const { stream } of watches) stream.fail(new MooringError("transport-failed", "the connection broke"));
      watches.clear();
    },
    comeBack: () => {
      absence = undefined;
    },
    renewLease: (holder) => lease.renew(holder, formatMicroTime(clock.wallMs())),
    sendEvent: (path, event) => {
      for (const watch of watches) if (watch.path === path) watch.stream.writeLine(event);
    },
  };
}

const ABSENT: Readonly<Record<Absence, FakeAnswer>> = {
  broken: "broken",
  silence: "silence",
  unavailable: { status: 503, body: "<html>upstream connect error</html>" },
};

/** By `limit` and `continue`, as the API server pages. */
function pageOf(items: readonly FakeObject[], search: URLSearchParams): object {
  const [from, limit] = [Number(search.get("continue") ?? 0), Number(search.get("limit") ?? items.length)];
  const next = from + limit < items.length ? { continue: String(from + limit) } : {};
  return { metadata: { resourceVersion: "100", ...next }, items: items.slice(from, from + limit) };
}

function isSelected(search: URLSearchParams): (object: FakeObject) => boolean {
  const name = /^metadata\.name=(.*)$/.exec(search.get("fieldSelector") ?? "")?.[1];
  const isLabelled = search.has("labelSelector");
  return ({ metadata }) => !isLabelled && (name === undefined || metadata.name === name);
}

function dated(answer: FakeAnswer, nowMs: number): FakeAnswer {
  return typeof answer === "string" ? answer : { ...answer, headers: { ...answer.headers, date: httpDate(nowMs) } };
}

/** One ConfigMap, with what the last write says unless it is immutable. */
function createFakeConfigMap(first?: FakeObject): (request: HttpRequest) => FakeAnswer {
  let data: unknown = first?.data;
  return ({ method, path, body }) => {
    if (method !== "GET" && first?.immutable === true)
      return json({ kind: "Status", reason: "Invalid", message: "field is immutable" }, 422);
    if (method !== "GET") data = JSON.parse(body ?? "{}").data;
    if (data !== undefined) return json({ metadata: { uid: "config-map-1", resourceVersion: "1" }, data });
    const name = path.split("/").at(-1);
    return json({ kind: "Status", code: 404, reason: "NotFound", details: { name } }, 404);
  };
}

/** One Lease, made by the first request unless it is there, and merged with each patch. */
function createFakeLease(first?: FakeObject) {
  let present: FakeLease | undefined = first;
  let version = 0;
  const renew = (holderIdentity: string, renewTime: string): void => {
    version += 1;
    const metadata = { ...present?.metadata, uid: "lease-1", resourceVersion: String(version) };
    present = { metadata, spec: { leaseDurationSeconds: 15, ...present?.spec, holderIdentity, renewTime } };
  };
  const answer = ({ method, body }: HttpRequest): FakeAnswer => {
    const given = JSON.parse(body ?? "{}");
    if (method === "GET" && present === undefined) {
      return json({ kind: "Status", code: 404, reason: "NotFound", details: { name: "mooring-aggregator" } }, 404);
    }
    if (method !== "GET") {
      version += 1;
      const { annotations } = given.metadata ?? {};
      const metadata = { ...present?.metadata, uid: "lease-1", resourceVersion: String(version), annotations };
      present = { metadata, spec: { ...present?.spec, ...given.spec } };
    }
    return json(present);
  };
  return { answer, renew };
}
