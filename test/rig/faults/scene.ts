import { createKubeClient, type KubeClient, type KubeParts } from "../../../common/kube/client.ts";
import { createUndiciTransport } from "../../../common/kube/undici-transport.ts";
import type { Clock } from "../../../common/runtime/clock.ts";
import { createFakeLogger, type FakeLogger } from "../../fakes/logger.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import type { Owner } from "../process/owner.ts";
import { CopyController } from "./controller.ts";
import type { ProxyFaultKind } from "./fault.ts";
import { type Followed, Follower } from "./follower.ts";
import { Mutator, type Population } from "./mutator.ts";
import { type FaultProxy, type FaultProxyOptions, startFaultProxy } from "./proxy.ts";
import type { Stormed, Struck } from "./storm.ts";
import type { World } from "./world.ts";

/** Followers, and the proxy between them and the API server. */
export interface Side extends Struck {
  /** Whether it pings, and so must notice a peer that is gone. */
  readonly pings: boolean;
  readonly client: KubeClient;
  readonly followers: readonly Follower[];
  /** Everything that is followed through this proxy, as its records name it: each has exactly one watch. */
  readonly collections: readonly string[];
}

/** All that one seed has to itself in a world: objects, who changes them, proxies and followers. */
export interface Scene extends Stormed {
  readonly mutator: Mutator;
  /** One speaks HTTP/2 and streams lists; the other speaks HTTP/1.1 and has a server that only knows pages. */
  readonly sides: readonly Side[];
  readonly controller: CopyController;
  /** Updates everything that is controlled once more, while some of the writes that this makes are refused, lost or not answered. */
  readonly finale: () => Promise<void>;
  readonly logger: FakeLogger;
  /** Follows and controls until the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Where and how a scene is set up. */
export interface SceneOptions {
  readonly world: World;
  readonly owner: Owner;
  /** What the followers and the proxies live by, and how many times faster it is than the server's. */
  readonly clock: Clock;
  readonly speed: number;
  readonly seed: number;
}

const PINNED = ["pinned-0", "pinned-1", "pinned-2"];
const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } }, storageClassName: "" };
const SHOWN = "shown=yes";

/** A key that is lost here stays lost: nothing changes any more. */
const FINALE: readonly ProxyFaultKind[] = [
  "outage-of-writes",
  "refused-write",
  "lost-answer",
  "refused-write",
  "refused-write",
  "refused-write",
  "unanswered-write",
];
/** Long enough that a client that writes again without a pause does so a hundred times; with one, a dozen times. */
const FINALE_LENGTH_MS = 60_000;
/** As common/kube does by itself, at its own speed. */
const PING_MS = 15_000;
/** A page is small, so that a small collection has several. */
const PAGING = { protocol: "http/1.1", refusesStreams: true, pageSize: 4 } as const;

/** Makes the objects and starts the proxies; nothing follows yet. */
export async function openScene(options: SceneOptions): Promise<Scene> {
  const { world, owner, seed, speed } = options;
  const [open, written] = [`faults-${seed}`, `faults-${seed}-written`];
  await Promise.all([open, written].map((namespace) => world.namespace(namespace)));
  const configMaps = population(open, "configmaps", {});
  const claims = population(open, "persistentvolumeclaims", { spec: CLAIM });
  const copied = population(written, "configmaps", {});
  const random = createFakeRandom(seed);
  const mutator = new Mutator({ direct: world.direct, clock: owner.clock, random }, [configMaps, claims, copied]);
  await mutator.begin();

  const logger = createFakeLogger();
  const shown = { ...followed(configMaps), labelSelector: SHOWN };
  const streaming = await openSide(options, logger, { protocol: "h2", speed });
  const paging = await openSide(options, logger, { ...PAGING, watchSeconds: 4 });
  const controller = new CopyController(streaming.parts, copied.path);
  const sides = [
    sideOf(streaming, {
      all: [followed(configMaps), shown, followed(claims)],
      others: [copied.path],
      misses: ["expired-page"],
      pings: true,
    }),
    sideOf(paging, {
      all: [{ ...followed(configMaps), listsFrom: "cache" }, followed(claims)],
      misses: ["cut-initial-events", "lost-answer", "refused-write", "outage-of-writes", "unanswered-write"],
      pings: false,
    }),
  ];
  const followers = sides.flatMap((side) => side.followers);
  return {
    seed,
    mutator,
    sides,
    controller,
    logger,
    finale: async () => {
      for (const kind of FINALE) streaming.proxy.arm({ kind, atMs: 0, pick: 0, lengthMs: FINALE_LENGTH_MS });
      await mutator.touchAll(copied.path);
    },
    isSteady: () => followers.every(({ informer }) => informer.resourceVersion() !== undefined),
    run: async (signal) => {
      await Promise.all([...followers.map(({ informer }) => informer.run(signal)), controller.run(signal)]);
    },
  };
}

function population(namespace: string, resource: string, object: object): Population {
  const names = Array.from({ length: 9 }, (_, index) => `object-${index}`);
  return { path: `/api/v1/namespaces/${namespace}/${resource}`, object, names, pinned: PINNED };
}

function followed({ path, pinned }: Population): Followed {
  const namespace = path.split("/")[4];
  return { path, listsFrom: "quorum", pinned: pinned.map((name) => `${namespace}/${name}`) };
}

interface OpenSide {
  readonly proxy: FaultProxy;
  readonly parts: KubeParts;
}

interface SidePlan extends Pick<Side, "misses" | "pings"> {
  readonly all: readonly Followed[];
  readonly others?: readonly string[];
}

function sideOf({ proxy, parts }: OpenSide, { all, others = [], misses, pings }: SidePlan): Side {
  const followers = all.map((one) => new Follower(parts, one));
  const collections = [...followers.map(({ collection }) => collection), ...others];
  return { proxy, client: parts.client, followers, collections, misses, pings };
}

async function openSide(
  { world, owner, clock, speed, seed }: SceneOptions,
  logger: FakeLogger,
  how: Omit<FaultProxyOptions, "target" | "clock">,
): Promise<OpenSide> {
  const proxy = await startFaultProxy({ ...how, target: world.identity, clock });
  owner.defer(() => proxy.close());
  // Sockets live by the real clock, whatever the clock of their users.
  const transport = createUndiciTransport({ origin: proxy.url, ca: proxy.ca }, { pingMs: PING_MS / speed });
  const connection = { transport, basePath: "", authorization: async () => undefined, server: proxy.url };
  const client = createKubeClient(connection, { clock });
  owner.defer(() => client.close());
  return { proxy, parts: { client, clock, random: createFakeRandom(seed), logger } };
}
