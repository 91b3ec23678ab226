import type { HttpRequest } from "../../../../common/kube/transport.ts";
import type { Random } from "../../../../common/runtime/random.ts";
import type { Answer, Sink } from "../network.ts";
import type { Cancel, Scheduler } from "../scheduler.ts";
import { httpDate, secondsText } from "../times.ts";
import type { SimApiServer, StoreEvent } from "./api.ts";
import { mergeObject, parseObject, textAt, without } from "./json.ts";
import { listBody, type Pages, select } from "./lists.ts";
import type { ApiObject, JsonObject, ResourceName } from "./objects.ts";
import {
  badRequest,
  forbidden,
  NOT_SERVED,
  notFound,
  noUid,
  type Refused,
  refused,
  tooLarge,
  unmetPrecondition,
} from "./refusals.ts";
import { forEachResource, keyOf, RESOURCE_NAMES, readPath, type Target } from "./resources.ts";
import { selectorOf } from "./selectors.ts";
import { type Store, textOf } from "./store.ts";
import { WatchCache } from "./watch-cache.ts";
import { serveWatch } from "./watching.ts";
import { applyObject, createObject, requestDeletion, updateObject, type Writer, type Written } from "./writes.ts";

interface ServerParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly store: Store;
  readonly pages: Pages;
  /** True wall time, milliseconds since the epoch. */
  readonly trueWallMs: () => number;
}

/** A parsed request. */
interface ParsedRequest {
  readonly request: HttpRequest;
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly by: string;
}

type Respond = (answer: Answer) => void;

const AGENT_DENIAL = forbidden("mooring-agent.mooring.dev", "an agent must not give a pod another phase than Failed");
const VERSION = JSON.stringify({ major: "1", minor: "36", gitVersion: "v1.36.3" });
/** k8s.io/apiserver: watch_cache.go, blockTimeout. */
const CATCH_UP_MS = 3_000;

/** One API server in front of the store. */
export class Server implements SimApiServer {
  clockOffsetMs = 0;
  isUp = true;
  lagMs: (resource: ResourceName) => number = () => 0;
  readonly #parts: ServerParts;
  readonly #caches: Readonly<Record<ResourceName, WatchCache>>;
  readonly #connections = new Set<Sink>();
  #date = { second: 0, text: "" };

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#caches = forEachResource((name) => new WatchCache(parts, name, () => this.lagMs(name)));
    parts.store.listeners.push((event: StoreEvent) => this.#caches[event.resource].onWrite(event));
  }

  /** Its wall clock, milliseconds since the epoch. */
  wallMs(): number {
    return this.#parts.trueWallMs() + this.clockOffsetMs;
  }

  readonly cut = (): void => {
    for (const sink of [...this.#connections]) sink.fail("the server went away");
    this.#connections.clear();
  };

  /** A restarted server: its caches start from the present content of the store. */
  reset(): void {
    this.cut();
    for (const name of RESOURCE_NAMES) this.#caches[name].reset();
  }

  receive(request: HttpRequest, by: string, respond: Respond): void {
    if (!this.isUp) {
      respond("reset");
      return;
    }
    const [path = "", search = ""] = request.path.split("?");
    const target = readPath(path);
    const dated: Respond = (answer) =>
      respond(
        typeof answer === "string" ? answer : { ...answer, headers: { ...answer.headers, date: this.#dateText() } },
      );
    if (path === "/version") dated({ status: 200, headers: {}, body: VERSION });
    else if (target === undefined) dated(NOT_SERVED);
    else this.#serve({ request, target, query: new URLSearchParams(search), by }, dated);
  }

  #serve(asked: ParsedRequest, respond: Respond): void {
    const { request, target, query } = asked;
    if (request.method !== "GET") respond(this.#write(asked));
    else if (target.name !== undefined) respond(this.#get(target));
    else if (query.get("watch") === "true") respond(this.#watch(asked));
    else this.#list(asked, respond);
  }

  #get(target: Target): Answer {
    const object = this.#find(target);
    if (object === undefined) return refused(notFound(target.resource, target.name ?? ""));
    return { status: 200, headers: {}, body: textOf(object) };
  }

  #list(asked: ParsedRequest, respond: Respond): void {
    const { target, query, request } = asked;
    const { store, pages, scheduler } = this.#parts;
    const cache = this.#caches[target.resource.name];
    const selector = selectorOf(target, query);
    const form = {
      resource: target.resource,
      limit: Number(query.get("limit") ?? 0) || undefined,
      isMetadataOnly: (request.headers.accept ?? "").includes("as=PartialObjectMetadataList"),
    };
    const answer = (objects: readonly ApiObject[], revision: number): void =>
      respond({ status: 200, headers: {}, body: listBody(objects, { ...form, revision }, pages) });
    const token = query.get("continue");
    if (token) {
      const rest = pages.take(token, store.floor);
      if ("why" in rest) respond(refused(rest.why));
      else answer(rest.objects, rest.revision);
      return;
    }
    const wanted = query.get("resourceVersion");
    if (wanted === null || wanted === "") {
      answer(select(store.objects[target.resource.name], selector), store.revision);
      return;
    }
    const fromCache = (): void => {
      if (cache.position < Number(wanted)) respond(refused(tooLarge(Number(wanted), cache.position)));
      else answer(select(cache.objects, selector), cache.position);
    };
    if (cache.position >= Number(wanted)) fromCache();
    else scheduler.after(CATCH_UP_MS, fromCache);
  }

  #watch({ target, query }: ParsedRequest): Answer {
    const { resource } = target;
    const cache = this.#caches[resource.name];
    const isWithList = query.get("sendInitialEvents") === "true";
    const from = query.get("resourceVersion");
    const order = {
      resource,
      selector: selectorOf(target, query),
      isWithList,
      from: from === null || from === "" ? undefined : Number(from),
      hasBookmarks: query.get("allowWatchBookmarks") === "true",
      timeoutS: Number(query.get("timeoutSeconds") ?? 0) || undefined,
    };
    return {
      status: 200,
      headers: {},
      stream: (sink) => this.#connect(sink, serveWatch({ ...this.#parts, cache }, order, sink)),
    };
  }

  #connect(sink: Sink, stop: Cancel): Cancel {
    this.#connections.add(sink);
    return () => {
      this.#connections.delete(sink);
      stop();
    };
  }

  #write(asked: ParsedRequest): Answer {
    const written = this.#writeOf(asked);
    if (written.kind === "refused") return refused(written.why);
    return { status: asked.request.method === "POST" ? 201 : 200, headers: {}, body: textOf(written.object) };
  }

  #writeOf(asked: ParsedRequest): Written {
    const { request, target } = asked;
    const { store } = this.#parts;
    const { resource, namespace, name = "" } = target;
    // The one dry run that there is: an agent asks whether the policy that confines it is in force.
    if (asked.query.get("dryRun") === "All") return this.#tryOut(target);
    const body = parseObject(request.body);
    if (request.method !== "DELETE" && body === undefined) return no(badRequest("the body is no JSON object"));
    const writer = this.#writerOf(asked);
    if (request.method === "POST")
      return createObject(store, { resource, object: begun(resource, body ?? {}), namespace }, writer);
    const previous = this.#find(target);
    if (previous === undefined) return no(this.#absent(asked, body));
    if (request.method === "DELETE") {
      const why = unmetPrecondition(resource, previous, body);
      return why === undefined
        ? { kind: "written", object: requestDeletion(store, resource, { previous, writer }) }
        : no(why);
    }
    const change = { resource, previous, next: body ?? {} };
    if (request.method === "PUT") return updateObject(store, change, writer);
    if (isApply(request))
      return applyObject(store, { ...change, isForced: asked.query.get("force") === "true" }, writer);
    if (request.headers["content-type"] !== "application/merge-patch+json")
      return no({
        code: 415,
        reason: "UnsupportedMediaType",
        message: `the body of the request was in an unknown format for ${name}`,
      });
    return updateObject(store, { ...change, next: mergeObject(previous, change.next) }, writer);
  }

  #tryOut(target: Target): Written {
    const found = this.#find(target);
    if (found === undefined) return no(notFound(target.resource, target.name ?? ""));
    return this.#parts.store.areAgentsConfined ? no(AGENT_DENIAL) : { kind: "written", object: found };
  }

  /** An apply to the object itself creates it when it does not exist, unless the apply names a UID. */
  #absent({ target, request }: ParsedRequest, body: JsonObject | undefined): Refused {
    const { resource, name = "", subresource } = target;
    const uid = textAt(body, "metadata", "uid");
    return isApply(request) && subresource === undefined && uid !== ""
      ? noUid(resource, name, uid)
      : notFound(resource, name);
  }

  #writerOf({ by, query, target, request }: ParsedRequest): Writer {
    const manager = query.get("fieldManager") ?? request.headers["user-agent"] ?? by;
    const subresource = target.subresource === "status" ? "status" : undefined;
    return { by, manager, subresource, time: secondsText(this.wallMs()) };
  }

  #find({ resource, namespace, name = "" }: Target): ApiObject | undefined {
    return this.#parts.store.get(resource.name, keyOf({ namespace, name }));
  }

  #dateText(): string {
    const second = Math.floor(this.wallMs() / 1000);
    if (second !== this.#date.second) this.#date = { second, text: httpDate(second * 1000) };
    return this.#date.text;
  }
}

/** The server ignores the status in a create request. */
function begun({ name, hasStatus }: Target["resource"], body: JsonObject): JsonObject {
  if (!hasStatus) return body;
  return name === "persistentvolumeclaims" ? { ...body, status: { phase: "Pending" } } : without(body, "status");
}

function isApply({ headers }: HttpRequest): boolean {
  return headers["content-type"]?.startsWith("application/apply-patch") ?? false;
}

function no(why: Refused): Written {
  return { kind: "refused", why };
}
