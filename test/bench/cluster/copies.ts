import { object, parse, string } from "valibot";
import type { Owner } from "../../process/owner.ts";
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
 * So many nodes, with all that is on them, are made by the API server itself; the others are copies of what it has stored. A copy
 * has names as long as its template's, which repeat with the eight workloads: 4 nodes of 30 pods and 40 claims.
 */
const TEMPLATE_NODES = 4;

/**
 * What takes the managed fields off an object. They are a third of what an API server has in memory, and Mooring keeps nothing of them: without
 * them a machine of 24 GB holds the largest cluster.
 */
export const WITHOUT_MANAGERS = { metadata: { managedFields: [{}] } };

/** How many nodes the API server has to make. */
export function templateNodesOf({ nodes }: Sizes): number {
  return Math.min(TEMPLATE_NODES, nodes);
}

/** What a cluster is filled through. */
export interface CopyParts {
  readonly store: EtcdStore;
  readonly writer: ObjectWriter;
  readonly sizes: Sizes;
}

/** Where an object is, and what its texts come from: by a number of its kind. `uid` gives it one of its own. */
interface Kind {
  readonly perNode: number;
  readonly path: (index: number) => string;
  readonly key: (index: number) => string;
  readonly source: (index: number, uidOf: UidOf) => unknown;
}

/** The UID of an object by its kind (`pods`, `claims`, …) and number. */
export type UidOf = (kind: string, index: number) => string;

const stored = object({ metadata: object({ uid: string() }) });

/** Copies the nodes that the API server has made, with all that is on them, until there are as many as there should be. */
export async function copyNodes(owner: Owner, parts: CopyParts): Promise<UidOf> {
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
  for (const [name, kind] of Object.entries(kinds)) {
    await copyKind(owner, parts, { ...kind, textsOf: (index) => [kind.source(index, uidOf), uidOf(name, index)] });
    owner.say(`${parts.sizes.nodes * kind.perNode} ${name} there`);
  }
  return uidOf;
}

interface CopiedKind extends Kind {
  readonly textsOf: (index: number) => unknown;
}

async function copyKind({ signal }: Owner, { store, sizes }: CopyParts, kind: CopiedKind): Promise<void> {
  const { perNode, key, textsOf } = kind;
  const templates: Template[] = [];
  for (let index = 0; index < templateNodesOf(sizes) * perNode; index += 1) {
    templates.push(new Template(await store.get(key(index)), textsOf(index)));
  }
  for (let first = templates.length; first < sizes.nodes * perNode; first += MOST_ENTRIES) {
    signal.throwIfAborted();
    const count = Math.min(MOST_ENTRIES, sizes.nodes * perNode - first);
    const entries = Array.from({ length: count }, (_, i) => first + i).flatMap((index): Entry[] => {
      const template = templates[index % templates.length];
      return template === undefined ? [] : [{ key: key(index), bytes: template.copy(textsOf(index)) }];
    });
    await store.put(entries);
  }
}

/** What is on a node, in the order in which it is made. Keys are those of k8s.io/kubernetes: pkg/registry. */
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
