import * as v from "valibot";
import { startAttacher } from "../../rig/csi/attacher.ts";
import { startCsiDriver } from "../../rig/csi/harness.ts";
import { claimObject, csiDriverObject, STORAGE_PATHS, volumeObject } from "../../rig/csi/objects.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { makeClaim, volumeOf } from "../scenarios/claims.ts";
import { NODES, type NodeName, type Stage } from "../scenarios/stage.ts";

/** A driver whose volumes are attached when the harness says so and not before: the slowest storage there is. */
export const SLOW_DRIVER = "slow.csi.mooring.test";

/** A label that a node must have, with its value. */
export interface Admitted {
  readonly label: string;
  readonly value: string;
}

/** What every kubelet says of its node. */
export function hostname(node: NodeName): Admitted {
  return { label: "kubernetes.io/hostname", value: node };
}

/** Runs the slow driver on each node. What is answered lets it attach from then on. */
export async function startSlowDriver({ owner, api, cluster, node }: Stage): Promise<() => Promise<void>> {
  await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver: SLOW_DRIVER, attachRequired: true }));
  const started = NODES.map((on) =>
    startCsiDriver(owner, { driver: SLOW_DRIVER, node: on, inside: (command) => node(on).inside(command) }),
  );
  for (const driver of await Promise.all(started)) await driver.registered();
  return async () => {
    await startAttacher(owner, cluster.plane, { driver: SLOW_DRIVER });
  };
}

/** Makes a volume of a driver that nodes with this label reach, and a claim of it, and waits until both are bound; answers its name. */
export async function makeReachable(
  stage: Stage,
  claim: string,
  { driver, from }: { readonly driver: string; readonly from: Admitted },
): Promise<string> {
  const { api } = stage;
  const name = volumeOf(claim);
  const volume = volumeObject({ name, driver, claim: { namespace: "default", name: claim } });
  const spec = { ...volume.spec, nodeAffinity: affinityOf(from) };
  await api.create(STORAGE_PATHS.volumes, { ...volume, spec });
  await api.create(STORAGE_PATHS.claims("default"), claimObject({ name: claim, volume: name }));
  await untilBound(stage, claim);
  return name;
}

/** Makes a folder of this node the claim's volume, to be reached from there alone, and waits until both are bound; answers its name. */
export async function makeLocal(stage: Stage, claim: string, node: NodeName): Promise<string> {
  const name = await makeClaim(stage, claim, { kind: "local", node });
  await untilBound(stage, claim);
  return name;
}

const claimed = v.object({ status: v.object({ phase: v.string() }) });

/** A kubelet that meets a claim before it is bound lets the whole pod wait for its next round. */
async function untilBound({ api, until }: Stage, claim: string): Promise<void> {
  await until(`the binding of ${claim}`, async () => {
    const { phase } = v.parse(claimed, await api.get(`${STORAGE_PATHS.claims("default")}/${claim}`)).status;
    if (phase !== "Bound") throw new HarnessError(`it is ${phase}`);
  });
}

/** Says of a volume that nodes with this label reach it and no others, as the program that moved it does. */
export async function moveVolume({ api }: Stage, volume: string, to: Admitted): Promise<void> {
  await api.patch(`${STORAGE_PATHS.volumes}/${volume}`, { spec: { nodeAffinity: affinityOf(to) } });
}

/** Gives a node a label, or takes it away. */
export async function labelNode({ api }: Stage, node: NodeName, { label, value }: NodeLabel): Promise<void> {
  await api.patch(`/api/v1/nodes/${node}`, { metadata: { labels: { [label]: value } } });
}

interface NodeLabel {
  readonly label: string;
  /** Null takes it away. */
  readonly value: string | null;
}

function affinityOf({ label, value }: Admitted): object {
  const matchExpressions = [{ key: label, operator: "In", values: [value] }];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}
