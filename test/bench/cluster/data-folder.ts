import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { array, number, object, optional, parse, string } from "valibot";
import { MODULES } from "../../rig/control-plane/components.ts";
import { type ControlPlane, startControlPlane } from "../../rig/control-plane/control-plane.ts";
import { readSettings } from "../../rig/control-plane/settings.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { writtenCondition } from "./conditions.ts";
import { WITHOUT_MANAGERS } from "./copies.ts";
import { createEtcdStore } from "./etcd-store.ts";
import { agentPodOf, CLAIMS_PER_NODE, claimPlace, podPlace, type Sizes } from "./layout.ts";
import { loadCluster } from "./loader.ts";
import { nodeObject } from "./nodes.ts";
import { podObject, podStatus } from "./pods.ts";
import { ATTACHMENT_STATUS, attachmentObject, CLAIM_STATUS, claimObject, volumeObject } from "./volumes.ts";
import { createWriter } from "./writer.ts";

/** What only the API server knows of the objects: the pods' UIDs, by their numbers. */
export interface ClusterIndex {
  readonly podUids: readonly string[];
  /** When the conditions were written, milliseconds since the epoch; nothing where no claim has one. */
  readonly writtenAtMs?: number | undefined;
}

/** The sizes, and the number of nodes, from the first on, whose claims have their condition before the aggregator starts. */
export interface ClusterForm {
  readonly sizes: Sizes;
  readonly writtenNodes: number;
}

/** A real API server with the objects of a whole cluster. */
export interface LoadedCluster extends ClusterForm {
  readonly plane: ControlPlane;
  readonly index: ClusterIndex;
}

/** A database of this size is more than the largest cluster needs; the default of 2 GiB is not enough for it. Bytes. */
const QUOTA = 8 * 1024 ** 3;

/** The API server's own informers list all pods before it calls itself ready. */
const READY_LIMIT_MS = 1_200_000;
/** Below it, a data folder is complete or absent. */
const ETCD = "etcd";
const INDEX = "cluster.json";
const LOADING = "loading";

const clusterIndex = object({ podUids: array(string()), writtenAtMs: optional(number()) });

/**
 * Starts a control plane with a cluster of this form. Filling one takes some minutes, so that the cache keeps its data folder, and every
 * run works on a copy.
 */
export async function openLoadedCluster(owner: Owner, form: ClusterForm): Promise<LoadedCluster> {
  const kept = await keptFolder(owner, form);
  const copy = join(owner.folder, "etcd-data");
  cpSync(join(kept, ETCD), copy, { recursive: true });
  const index = parse(clusterIndex, JSON.parse(readFileSync(join(kept, INDEX), "utf8")));
  return { plane: await startPlane(owner, { data: copy, name: "control-plane", env: FRUGAL }), ...form, index };
}

/** The cached data folder; creates it when it is missing. */
export async function keptFolder(owner: Owner, form: ClusterForm): Promise<string> {
  const { sizes, writtenNodes } = form;
  const folder = join(readSettings(process.env).cache, "scale", keyOf(form));
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const unfinished = mkdtempSync(`${folder}.`);
  owner.defer(() => rmSync(unfinished, { recursive: true, force: true }));
  owner.say(`no cluster of this size in the cache yet: making ${sizes.claims} claims, ${sizes.pods} pods …`);
  const plane = await startPlane(owner, { data: join(unfinished, ETCD), name: LOADING, ...IN_A_HURRY });
  const writer = await createWriter(owner, plane);
  const store = createEtcdStore(owner, { plane, folder: LOADING });
  const { uidOf, writtenAtMs } = await loadCluster(owner, { writer, store, ...form });
  const podUids = Array.from({ length: sizes.pods }, (_, pod) => uidOf("pods", pod));
  const index: ClusterIndex = { podUids, ...(writtenNodes === 0 ? {} : { writtenAtMs }) };
  await plane.stop();
  writeFileSync(join(unfinished, INDEX), JSON.stringify(index));
  renameSync(unfinished, folder);
  return folder;
}

/** A folder name that changes with everything that the content depends on. */
export function keyOf({ sizes, writtenNodes }: ClusterForm): string {
  const [claim, pod] = [claimPlace(1, sizes), podPlace(1, sizes)];
  const samples = [
    [claimObject(claim), CLAIM_STATUS, volumeObject(claim, "uid"), attachmentObject(claim), ATTACHMENT_STATUS],
    [podObject(pod, ["claim"]), podStatus(pod), podPlace(agentPodOf(1), sizes), nodeObject(1, ["handle"])],
  ];
  const versions = [MODULES.kubernetes.version, MODULES.etcd.version];
  const written = writtenNodes === 0 ? [] : [writtenNodes, ...sampleConditions(sizes)];
  const hash = createHash("sha256")
    .update(JSON.stringify([sizes, versions, samples, WITHOUT_MANAGERS, ...written]))
    .digest("hex");
  return `${sizes.claims}-claims-${hash.slice(0, 12)}`;
}

/** Of a node's claims: in use, used once, never used. */
function sampleConditions(sizes: Sizes): readonly unknown[] {
  const places = Array.from({ length: CLAIMS_PER_NODE }, (_, slot) => claimPlace(slot, sizes));
  return places.map((place) => writtenCondition(place, { uid: "uid", atMs: 0 }));
}

interface PlaneChoice {
  readonly data: string;
  readonly name: string;
  readonly apiServer?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Only the few templates and, once, the names are read: no cache is needed, and little garbage collection. */
const IN_A_HURRY = {
  apiServer: ["--watch-cache=false"],
  env: { GOGC: "500", GOMEMLIMIT: "5GiB" },
} as const;

/** Its watch cache holds every object decoded; by default the heap may grow to twice that, which few machines have. */
const FRUGAL = { GOGC: "50", GOMEMLIMIT: "14GiB" } as const;

function startPlane(owner: Owner, { data, name, apiServer = [], env = {} }: PlaneChoice): Promise<ControlPlane> {
  return startControlPlane(owner, {
    name,
    env,
    readyLimitMs: READY_LIMIT_MS,
    args: {
      etcd: [`--data-dir=${data}`, `--quota-backend-bytes=${QUOTA}`],
      // The objects are complete as they are, and no controller creates accounts for their namespaces.
      "kube-apiserver": ["--disable-admission-plugins=ServiceAccount", "--authorization-mode=RBAC", ...apiServer],
    },
  });
}
