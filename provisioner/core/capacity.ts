import { type Findings, findingsText, NO_FINDINGS } from "../../common/storage/findings.ts";
import {
  FINDINGS,
  POOL,
  POOL_ID,
  POOL_PROBLEM,
  POOL_SIZE,
  POOL_STATE,
  PROVISIONERS,
} from "../../common/storage/local-volumes.ts";
import type { PoolState } from "../protocol.ts";
import { DEFAULT_POOL, readParameters } from "./class-parameters.ts";
import { nodeProblem } from "./local-node.ts";
import type { LocalNode, StorageClass } from "./objects.ts";
import { hashOf } from "./short-name.ts";
import { quantityOf, wholeUnits } from "./sizes.ts";

/** A CSIStorageCapacity object of this node: the largest possible volume of a class here. */
export interface Capacity {
  /** The same name for the same class and node. */
  readonly name: string;
  readonly storageClass: string;
  readonly nodeName: string;
  readonly bytes: number;
  /** Differences up to this many bytes may wait: other programs may write to the pool's disk all the time. */
  readonly slackBytes: number;
  /** What the annotations report about the pool and the node. */
  readonly notes: Notes;
}

export type Notes = Readonly<Record<string, string>>;

/** The annotations of such an object that a provisioner owns. */
export const NOTES = [POOL, POOL_ID, POOL_STATE, POOL_SIZE, POOL_PROBLEM, FINDINGS] as const;
/** Its text may change all the time; it is written only together with other changes. */
const COMPARED = NOTES.filter((key) => key !== POOL_PROBLEM);
/** Longest text of a problem, in characters. */
const LONGEST_PROBLEM = 512;

/** An existing object on the API server. */
export interface StoredCapacity extends Omit<Capacity, "nodeName" | "bytes" | "slackBytes"> {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined when its topology selects nodes in another way. */
  readonly hostname: string | undefined;
  /** Undefined when it has no size, or two. */
  readonly bytes: number | undefined;
}

/** The input from which a node's objects are computed. */
export interface CapacityInput {
  readonly classes: readonly StorageClass[];
  readonly pools: readonly PoolState[];
  readonly findings?: Findings;
}

/** The desired objects: one for each class with `WaitForFirstConsumer`. */
export function desiredCapacities(
  node: LocalNode,
  { classes, pools, findings = NO_FINDINGS }: CapacityInput,
): readonly Capacity[] {
  // Without objects of this node the scheduler does not choose it.
  if (nodeProblem(node) !== undefined) return [];
  return classes
    .filter(
      ({ provisioner, bindingMode }) => PROVISIONERS.includes(provisioner) && bindingMode === "WaitForFirstConsumer",
    )
    .map((storageClass) => ({
      name: `mooring-${hashOf(`${storageClass.name}/${node.name}`)}`,
      storageClass: storageClass.name,
      nodeName: node.name,
      ...spaceOf(storageClass, pools),
      notes: notesOf(poolOf(storageClass, pools), findings),
    }));
}

/** The class's pool on this node, if the node has it. */
function poolOf(storageClass: StorageClass, pools: readonly PoolState[]): PoolState | undefined {
  const parameters = readParameters(storageClass);
  return pools.find(({ name }) => name === (parameters.ok ? parameters.pool : DEFAULT_POOL));
}

function notesOf(pool: PoolState | undefined, findings: Findings): Notes {
  const found = findingsText(findings);
  return {
    ...(pool === undefined
      ? {}
      : { [POOL]: pool.name, [POOL_STATE]: pool.state, [POOL_SIZE]: quantityOf(pool.totalBytes) }),
    ...(pool?.id === undefined ? {} : { [POOL_ID]: pool.id }),
    ...(pool?.why === undefined ? {} : { [POOL_PROBLEM]: pool.why.slice(0, LONGEST_PROBLEM) }),
    ...(found === undefined ? {} : { [FINDINGS]: found }),
  };
}

/** A hundredth of the pool. */
const SLACK = 0.01;

/** For a class with wrong parameters: then a pod is scheduled to a node, and the provisioner there reports the problem on the claim. */
function spaceOf(storageClass: StorageClass, pools: readonly PoolState[]): Pick<Capacity, "bytes" | "slackBytes"> {
  const pool = poolOf(storageClass, pools);
  const slackBytes = (pool?.totalBytes ?? 0) * SLACK;
  if (!readParameters(storageClass).ok) return { bytes: wholeUnits(pool?.totalBytes ?? 0), slackBytes };
  return { bytes: pool?.state === "ready" ? wholeUnits(pool.freeBytes) : 0, slackBytes };
}

/** The writes after which exactly the desired objects exist. */
export interface CapacityChanges {
  readonly create: readonly Capacity[];
  readonly update: readonly { readonly stored: StoredCapacity; readonly want: Capacity }[];
  readonly remove: readonly StoredCapacity[];
}

/** Class and topology of an object are immutable: an object with our name and other values is deleted first. */
export function capacityChanges(
  stored: readonly StoredCapacity[],
  desired: readonly Capacity[],
  isExact: boolean,
): CapacityChanges {
  const wanted = new Map(desired.map((one) => [one.name, one]));
  const isFit = (one: StoredCapacity): boolean => {
    const want = wanted.get(one.name);
    return want?.storageClass === one.storageClass && want.nodeName === one.hostname;
  };
  const fit = new Map(stored.filter(isFit).map((one) => [one.name, one]));
  return {
    create: desired.filter(({ name }) => !stored.some((one) => one.name === name)),
    update: desired.flatMap((want) => {
      const one = fit.get(want.name);
      return one !== undefined && isDue(one, want, isExact) ? [{ stored: one, want }] : [];
    }),
    remove: stored.filter((one) => !isFit(one)),
  };
}

function isDue(stored: StoredCapacity, { bytes, slackBytes, notes }: Capacity, isExact: boolean): boolean {
  if (COMPARED.some((key) => stored.notes[key] !== notes[key])) return true;
  if (stored.bytes === bytes) return false;
  if (isExact || stored.bytes === undefined || stored.bytes === 0 || bytes === 0) return true;
  return Math.abs(stored.bytes - bytes) > slackBytes;
}
