import { object, parse, string } from "valibot";
import { FIELD_MANAGER } from "../../../common/storage/claim-status.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type WrittenCondition, writtenCondition } from "./conditions.ts";
import { type Entry, type EtcdStore, MOST_ENTRIES } from "./etcd-store.ts";
import {
  CLAIMS_PER_NODE,
  type ClaimPlace,
  claimPlace,
  nodeName,
  PODS_PER_NODE,
  type PodPlace,
  podPlace,
  type Sizes,
  STAGED_PER_NODE as STAGED,
  stagedClaimsOf,
  uuidOf,
} from "./layout.ts";
import { nodeObject } from "./nodes.ts";
import { podObject, podStatus } from "./pods.ts";
import { Template } from "./template.ts";
import { attachmentObject, claimObject, volumeObject } from "./volumes.ts";
import type { ObjectWriter } from "./writer.ts";

/**
 * The API server itself creates this many nodes with all their objects; the others are copies of what it has stored. The names of a copy
 * are as long as its template's, and repeat with the eight workloads: 4 nodes of 30 pods and 40 claims.
 */
const TEMPLATE_NODES = 4;

/**
 * Removes the managed fields from an object. They are a third of the API server's memory, and Mooring keeps none of them: without them a
 * machine of 24 GB holds the largest cluster.
 */
export const WITHOUT_MANAGERS = { metadata: { managedFields: [{}] } };

/** The number of nodes that the API server has to create. */
export function templateNodesOf({ nodes }: Sizes): number {
  return Math.min(TEMPLATE_NODES, nodes);
}

/** The connections that fill a cluster. */
export interface CopyParts {
  readonly store: EtcdStore;
  readonly writer: ObjectWriter;
  readonly sizes: Sizes;
  /** This many nodes, from the first on, have claims with their condition. */
  readonly writtenNodes: number;
}

/** The created objects. */
export interface Copied {
  readonly uidOf: UidOf;
  /** When the conditions were written, milliseconds since the epoch: a whole second. */
  readonly writtenAtMs: number;
}

/** Where an object is, and the source of its texts: the number within its kind. `uid` gives it its own UID. */
interface Kind {
  readonly perNode: number;
  readonly path: (index: number) => string;
  readonly key: (index: number) => string;
  readonly source: (index: number, uidOf: UidOf) => unknown;
}

/** The UID of an object by its kind (`pods`, `claims`, …) and number. */
export type UidOf = (kind: string, index: number) => string;

const stored = object({ metadata: object({ uid: string() }) });

/** Copies the nodes that the API server has created, with all their objects, up to the wanted number. */
export async function copyNodes(owner: Owner, parts: CopyParts): Promise<Copied> {
  const kinds = kindsOf(parts.sizes);
  const templates = templateNodesOf(parts.sizes);
  const known = new Map<string, string>();
  for (const [name, { perNode, path }] of Object.entries(kinds)) {
    for (let index = 0; index < templates * perNode; index += 1) {
      known.set(`${name} ${index}`, await readUid(parts.writer, path(index)));
      await parts.writer.patch(path(index), WITHOUT_MANAGERS);
    }
  }
  const uidOf: UidOf = (kind, index) => known.get(`${kind} ${index}`) ?? uuidOf(`uid of ${kind} ${index}`);
  // All claims exist by now, and no time of a claim may be earlier than a second after that.
  const writtenAtMs = Math.ceil(owner.clock.wallMs() / 1000) * 1000 + 1_000;
  const conditionOf = (index: number): WrittenCondition =>
    writtenCondition(claimPlace(index, parts.sizes), { uid: uidOf("claims", index), atMs: writtenAtMs });
  for (const [name, kind] of Object.entries(kinds)) {
    const textsOf = (index: number): readonly unknown[] => [kind.source(index, uidOf), uidOf(name, index)];
    const copied = { ...kind, textsOf, fromNode: templates, toNode: parts.sizes.nodes };
    await (name === "claims" ? copyClaims(owner, parts, { copied, conditionOf }) : copyKind(owner, parts, copied));
    owner.say(`${parts.sizes.nodes * kind.perNode} ${name} there`);
  }
  return { uidOf, writtenAtMs };
}

/** Claims without a condition first: their templates have none until one is written. */
async function copyClaims(
  owner: Owner,
  parts: CopyParts,
  { copied, conditionOf }: { readonly copied: CopiedKind; readonly conditionOf: (index: number) => WrittenCondition },
): Promise<void> {
  const bareFrom = Math.max(copied.fromNode, parts.writtenNodes);
  await copyKind(owner, parts, { ...copied, fromNode: bareFrom });
  await writeTemplates(parts, copied, conditionOf);
  const textsOf = (index: number): readonly unknown[] => [copied.textsOf(index), conditionOf(index)];
  await copyKind(owner, parts, { ...copied, textsOf, toNode: bareFrom });
}

/** The API server takes the conditions as from an aggregator, so that the managed fields are right, too. */
async function writeTemplates(
  { writer, sizes, writtenNodes }: CopyParts,
  { path, perNode }: Kind,
  conditionOf: (index: number) => WrittenCondition,
): Promise<void> {
  for (let index = 0; index < Math.min(templateNodesOf(sizes), writtenNodes) * perNode; index += 1) {
    const { namespace, name } = claimPlace(index, sizes);
    const { metadata, status } = conditionOf(index);
    const identity = { apiVersion: "v1", kind: "PersistentVolumeClaim" };
    const applied = { ...identity, metadata: { ...metadata, namespace, name }, status };
    await writer.applyStatus(path(index), applied, FIELD_MANAGER);
  }
}

/** The nodes whose objects of a kind are copies. */
interface CopiedKind extends Kind {
  readonly textsOf: (index: number) => unknown;
  readonly fromNode: number;
  readonly toNode: number;
}

async function copyKind({ signal }: Owner, { store, sizes }: CopyParts, kind: CopiedKind): Promise<void> {
  const { perNode, key, textsOf, fromNode, toNode } = kind;
  const templates: Template[] = [];
  for (let index = 0; index < templateNodesOf(sizes) * perNode; index += 1) {
    templates.push(new Template(await store.get(key(index)), textsOf(index)));
  }
  for (let first = fromNode * perNode; first < toNode * perNode; first += MOST_ENTRIES) {
    signal.throwIfAborted();
    const count = Math.min(MOST_ENTRIES, toNode * perNode - first);
    const entries = Array.from({ length: count }, (_, i) => first + i).flatMap((index): Entry[] => {
      const template = templates[index % templates.length];
      return template === undefined ? [] : [{ key: key(index), bytes: template.copy(textsOf(index)) }];
    });
    await store.put(entries);
  }
}

/** The objects of a node, in the order of their creation. The keys are those of k8s.io/kubernetes: pkg/registry. */
function kindsOf(sizes: Sizes): Readonly<Record<string, Kind>> {
  const stagedOf = (index: number): number => stagedClaimsOf(Math.floor(index / STAGED))[index % STAGED] ?? 0;
  const claim = (index: number): ClaimPlace => claimPlace(index, sizes);
  const pod = (index: number): PodPlace => podPlace(index, sizes);
  const attachment = (index: number): string => attachmentObject(claim(stagedOf(index))).metadata.name;
  return {
    nodes: {
      perNode: 1,
      path: (index) => `/api/v1/nodes/${nodeName(index)}`,
      key: (index) => `/registry/minions/${nodeName(index)}`,
      source: (index) =>
        nodeObject(
          index,
          stagedClaimsOf(index).map((staged) => claim(staged).handle),
        ),
    },
    claims: {
      perNode: CLAIMS_PER_NODE,
      path: (index) => `/api/v1/namespaces/${claim(index).namespace}/persistentvolumeclaims/${claim(index).name}`,
      key: (index) => `/registry/persistentvolumeclaims/${claim(index).namespace}/${claim(index).name}`,
      source: (index) => claimObject(claim(index)),
    },
    volumes: {
      perNode: CLAIMS_PER_NODE,
      path: (index) => `/api/v1/persistentvolumes/${claim(index).volume}`,
      key: (index) => `/registry/persistentvolumes/${claim(index).volume}`,
      source: (index, uidOf) => volumeObject(claim(index), uidOf("claims", index)),
    },
    attachments: {
      perNode: STAGED,
      path: (index) => `/apis/storage.k8s.io/v1/volumeattachments/${attachment(index)}`,
      key: (index) => `/registry/volumeattachments/${attachment(index)}`,
      source: (index) => attachmentObject(claim(stagedOf(index))),
    },
    pods: {
      perNode: PODS_PER_NODE,
      path: (index) => `/api/v1/namespaces/${pod(index).namespace}/pods/${pod(index).name}`,
      key: (index) => `/registry/pods/${pod(index).namespace}/${pod(index).name}`,
      source: (index) => [
        podObject(
          pod(index),
          pod(index).claims.map((used) => claim(used).name),
        ),
        podStatus(pod(index)),
      ],
    },
  };
}

async function readUid(writer: ObjectWriter, path: string): Promise<string> {
  return parse(stored, JSON.parse(await writer.read(path, "application/json"))).metadata.uid;
}
