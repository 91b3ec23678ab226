import type { Journal } from "../../../agent/sinks/journal.ts";
import { createKubeClient, type KubeClient } from "../../../common/kube/client.ts";
import type { ByteTransport, HttpRequest } from "../../../common/kube/transport.ts";
import type { Clock } from "../../../common/runtime/clock.ts";
import { createRouter, type Listen } from "../../../common/runtime/http-server.ts";
import type { LogFields, Logger } from "../../../common/runtime/logger.ts";
import type { Metrics } from "../../../common/runtime/metrics.ts";
import type { Random } from "../../../common/runtime/random.ts";
import type { LogLine } from "../../fakes/logger.ts";
import { readPath } from "./api/resources.ts";
import type { Life } from "./process.ts";

/** The ports that every process has. */
export interface CommonPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly listen: Listen;
  readonly client: KubeClient;
}

/** A process that reads the clock this often at one moment is in an endless loop: no other event of the world would ever happen. */
const MOST_READS = 200_000;

/** The clocks of its machine. A sleep never wakes after the end of the process. */
export function processClock(life: Life): Clock {
  const { wallMs, uptimeMs, processorMs, rate } = life.machine.clock;
  let [asks, lastMs] = [0, 0];
  const monotonicMs = (): number => {
    const nowMs = life.machine.clock.monotonicMs();
    asks = nowMs === lastMs ? asks + 1 : 0;
    lastMs = nowMs;
    if (asks > MOST_READS) throw new Error("a process goes on and on, and no time passes");
    return nowMs;
  };
  return { wallMs, monotonicMs, uptimeMs, processorMs, rate, sleep: (ms, signal) => life.sleep(ms, signal) };
}

/** A logger that passes lines of a minimum level to the world, until the process ends. */
export function processLogger(life: Life, print: (line: LogLine) => void): Logger {
  const logger = (own: LogFields): Logger => {
    const write =
      (level: LogLine["level"]) =>
      (fields: LogFields, message: string): void => {
        if (life.isAlive) print({ level, message, fields: { ...own, ...fields } });
      };
    return {
      debug: () => {},
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      fatal: write("fatal"),
      child: (fields) => logger({ ...own, ...fields }),
    };
  };
  return logger({});
}

/** Metrics without effect: no decision reads them. */
export const NO_METRICS: Metrics = {
  counter: () => ({ increment: () => {} }),
  histogram: () => ({ observe: () => {} }),
  gauge: () => {},
  series: () => {},
  list: () => [],
  text: async () => "",
  contentType: "text/plain",
};

/** A server is a router that the network finds. */
export function processListen(life: Life): Listen {
  return async (routes, { host, port }, logger) => {
    if (!life.survives("listen", "before")) return await new Promise(() => {});
    const router = createRouter(routes, logger);
    life.routers.push(router);
    return {
      url: `http://${host}:${port}`,
      close: async () => {
        const index = life.routers.indexOf(router);
        if (index !== -1) life.routers.splice(index, 1);
      },
    };
  };
}

/** A client over a simulated transport. */
export function processClient(transport: ByteTransport, clock: Clock): KubeClient {
  const connection = { transport, basePath: "", authorization: async () => undefined, server: "https://simulated" };
  return createKubeClient(connection, { clock });
}

/** A random stream that a dead process no longer draws from. */
export function processRandom(life: Life, random: Random): Random {
  return {
    fraction: () => (life.isAlive ? random.fraction() : 0.5),
    id: () => (life.isAlive ? random.id() : "nobody"),
  };
}

const VERBS = { GET: "get", POST: "create", PUT: "replace", PATCH: "patch", DELETE: "delete" } as const;

/** The site name of an API request: `list pods`, `watch nodes`, `apply persistentvolumeclaims/status`. */
export function apiSite({ method, path, headers }: HttpRequest): string {
  const mark = path.indexOf("?");
  const place = mark === -1 ? path : path.slice(0, mark);
  const search = mark === -1 ? "" : path.slice(mark);
  const target = readPath(place);
  if (target === undefined) return `${VERBS[method]} ${place}`;
  const { resource, name, subresource } = target;
  const what = subresource === undefined ? resource.name : `${resource.name}/${subresource}`;
  if (method === "GET" && name === undefined) return `${search.includes("watch=true") ? "watch" : "list"} ${what}`;
  return `${headers["content-type"]?.startsWith("application/apply") ? "apply" : VERBS[method]} ${what}`;
}

/** A journal with crash points around each call. */
export function guardJournal(life: Life, journal: Journal): Journal {
  const { close, place, isNew } = journal;
  return {
    ...(isNew && { isNew }),
    load: () => life.call("load journal", () => journal.load()),
    store: (state) => life.call("store journal", () => journal.store(state)),
    ...(close && { close: () => life.call("close journal", close) }),
    ...(place !== undefined && { place }),
  };
}
