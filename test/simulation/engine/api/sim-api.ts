import type { Random } from "../../../../common/runtime/random.ts";
import type { Endpoint } from "../network.ts";
import type { Scheduler } from "../scheduler.ts";
import { secondsText } from "../times.ts";
import type { SimApi, WriteOptions } from "./api.ts";
import { Pages } from "./lists.ts";
import type { ApiObject } from "./objects.ts";
import { keyOf, RESOURCES } from "./resources.ts";
import { Server } from "./server.ts";
import { Store } from "./store.ts";
import { createObject, deleteObject, requestDeletion, updateObject, type Writer, type Written } from "./writes.ts";

interface ApiParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** True wall time, milliseconds since the epoch. */
  readonly trueWallMs: () => number;
}

/** The API server, and the endpoint that receives its requests. */
export interface CreatedApi {
  readonly api: SimApi;
  readonly endpoint: Endpoint;
}

/** Creates a store with `count` servers in front of it. It contains only the namespaces that every cluster has. */
export function createSimApi(parts: ApiParts, count: number): CreatedApi {
  const store = new Store();
  const pages = new Pages();
  const servers = Array.from({ length: Math.max(1, count) }, () => new Server({ ...parts, store, pages }));
  const [first] = servers;
  const writerOf = ({ manager = "world", subresource }: WriteOptions): Writer => {
    const time = secondsText(first?.wallMs() ?? parts.trueWallMs());
    return { by: undefined, manager, subresource, time };
  };
  const api = worldSide(store, servers, writerOf);
  for (const name of ["default", "kube-system", "mooring"]) api.create("namespaces", { metadata: { name } });
  const restart = (downMs: number): void => {
    for (const server of servers) {
      server.isUp = false;
      server.cut();
    }
    parts.scheduler.after(downMs, () => {
      for (const server of servers) {
        server.reset();
        server.isUp = true;
      }
    });
  };
  return {
    api: { ...api, restart },
    endpoint: {
      receive: (request, { process, fate }, respond) => {
        const server = servers[fate.server ?? 0] ?? first;
        if (server === undefined) respond("reset");
        else server.receive(request, process, respond);
      },
    },
  };
}

function worldSide(
  store: Store,
  servers: readonly Server[],
  writerOf: (options: WriteOptions) => Writer,
): Omit<SimApi, "restart"> {
  const find: SimApi["get"] = (ref) => store.get(ref.resource, keyOf(ref));
  const attempt = (
    ref: Parameters<SimApi["update"]>[0],
    change: Parameters<SimApi["update"]>[1],
    options: WriteOptions,
  ): Written | undefined => {
    const previous = find(ref);
    if (previous === undefined) return undefined;
    return updateObject(
      store,
      { resource: RESOURCES[ref.resource], previous, next: change(previous) },
      writerOf(options),
    );
  };
  return {
    servers,
    get: find,
    list: (resource) => [...store.objects[resource].values()],
    create: (name, object, options = {}) => {
      const { namespace } = object.metadata;
      return stored(createObject(store, { resource: RESOURCES[name], object, namespace }, writerOf(options)));
    },
    update: (ref, change, options = {}) => {
      const written = attempt(ref, change, options);
      return written && stored(written);
    },
    attempt: (ref, change) => attempt(ref, change, {})?.kind === "written",
    requestDeletion: (ref) => {
      const previous = find(ref);
      return previous && requestDeletion(store, RESOURCES[ref.resource], { previous, writer: writerOf({}) });
    },
    protect: (mode) => {
      store.protection = mode;
    },
    confine: (isInForce) => {
      store.areAgentsConfined = isInForce;
    },
    delete: (ref) => {
      const previous = find(ref);
      return previous && deleteObject(store, RESOURCES[ref.resource], { previous });
    },
    revision: () => store.revision,
    compact: () => store.compact(),
    ...backups(store, servers),
    observe: (listener) => void store.listeners.push(listener),
  };
}

function backups(store: Store, servers: readonly Server[]): Pick<SimApi, "snapshot" | "restore" | "rewind"> {
  return {
    snapshot: () => store.state(),
    restore: (state) => {
      store.restore(state);
      for (const server of servers) server.reset();
    },
    rewind: (state, goesBack) => {
      store.rewind(state, goesBack);
      for (const server of servers) server.reset();
    },
  };
}

/** A write of the world must succeed: throws when the server refuses it. */
function stored(written: Written): ApiObject {
  if (written.kind === "written") return written.object;
  throw new Error(`the world's write was refused: ${written.why.message}`);
}
