import fc from "fast-check";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { matchVolumeAffinity } from "../../common/storage/node-selector.ts";
import { parseVolumeAffinity } from "../../common/storage/node-selector-terms.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { fitting } from "../unit/common/storage/random-selectors.ts";

/**
 * The real kube-scheduler asks the same function of upstream's as the kubelet (`CheckNodeAffinity`): a pod that may go to one node only, with a
 * volume that is bound, is scheduled exactly when the volume's affinity admits that node.
 */

const never = new AbortController().signal;
const NAMESPACE = "/api/v1/namespaces/affinity";
const OLD = "failure-domain.beta.kubernetes.io/zone";
const NEW = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";

const NODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  first: { zone: "a", disks: "4", rack: "" },
  second: { zone: "b", disks: "9007199254740993", constructor: "acme" },
  renamed: { [NEW]: "a", disks: "x4" },
  old: { [OLD]: "a", zone: "a__b", disks: "05" },
  bare: {},
};

const asks = (key: string, operator: string, ...values: string[]) => ({
  key,
  operator,
  ...(values.length > 0 && { values }),
});
const term = (...matchExpressions: object[]) => ({ matchExpressions });
const named = (...names: string[]) => ({ matchFields: [asks("metadata.name", "In", ...names)] });

/** Terms of volumes; what the API server does not take is left out, and counted. */
const chosen: readonly (readonly object[])[] = [
  [term(asks("zone", "In", "a", "b"))],
  [term(asks("zone", "NotIn", "a"))],
  [term(asks("rack", "Exists"))],
  [term(asks("rack", "DoesNotExist"))],
  [term(asks("rack", "In", ""))],
  [term(asks("constructor", "Exists"))],
  [term(asks("toString", "DoesNotExist"))],
  [term(asks("disks", "Gt", "3"))],
  [term(asks("disks", "Gt", "4"))],
  [term(asks("disks", "Lt", "12"))],
  [term(asks("disks", "Gt", "9007199254740992"))],
  [term(asks("disks", "Lt", "9223372036854775807"))],
  [term(asks("disks", "Lt", "9223372036854775808"))],
  [term(asks("disks", "Gt", "many"))],
  [term(asks("disks", "Gt", "-1"))],
  [term(asks("zone", "In", "a"), asks("disks", "Exists"))],
  [term(asks("zone", "In", "x")), term(asks("zone", "In", "b"))],
  [{}, term(asks("zone", "In", "b"))],
  [{}],
  [named("second")],
  [{ ...term(asks("zone", "In", "a")), ...named("second") }],
  [term(asks("zone", "In", "x")), named("first")],
  [term(asks("zone", "Near", "a"))],
  [term(asks("zone", "In"))],
  [term(asks("a b", "In", "a"))],
  [term(asks("zone", "NotIn", "a b"))],
  [term(asks("zone", "In", "x", "a b")), term(asks("zone", "In", "b"))],
  [term(asks(OLD, "In", "a"))],
  [term(asks(OLD, "NotIn", "b"))],
];

const random = fc.sample(fc.array(fc.array(fitting, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }), {
  numRuns: 40,
  seed: 8,
});
const all = [...chosen, ...random.map((terms) => terms.map((requirements) => term(...requirements)))];

const podList = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string() }),
      spec: v.object({ nodeName: v.optional(v.string()) }),
      status: v.object({
        conditions: v.optional(v.array(v.object({ type: v.string(), message: v.optional(v.string(), "") })), []),
      }),
    }),
  ),
});
const made = v.object({ metadata: v.object({ uid: v.string() }) });

let owner: Owner;
let signals: Disposable;
let client: KubeClient;
/** Which of all the API server takes. */
let taken: readonly boolean[];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const plane = await borrowControlPlane(owner, ["kube-scheduler"]);
  client = createKubeClient(await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => client.close());
  await create("/api/v1/namespaces", { metadata: { name: "affinity" } });
  await create(`${NAMESPACE}/serviceaccounts`, { metadata: { name: "default" } });
  await Promise.all(Object.entries(NODES).map(([name, labels]) => createNode(name, labels)));
  taken = await Promise.all(all.map((terms, n) => createVolume(`pv-${n}`, terms)));
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function create(path: string, body: object): Promise<unknown> {
  return client.request({ method: "POST", path, body }, never);
}

async function createNode(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
  const room = { cpu: "64", memory: "64Gi", pods: "1000" };
  const status = { capacity: room, allocatable: room, conditions: [{ type: "Ready", status: "True" }] };
  await create("/api/v1/nodes", { metadata: { name, labels: { ...labels, [HOST]: name } }, status });
}

/** A volume with its claim, bound; false when the API server does not take it. */
async function createVolume(name: string, nodeSelectorTerms: readonly object[] | undefined): Promise<boolean> {
  const common = { accessModes: ["ReadWriteMany"], storageClassName: "none" };
  const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
  const { metadata } = v.parse(
    made,
    await create(`${NAMESPACE}/persistentvolumeclaims`, {
      metadata: { name, annotations },
      spec: { ...common, volumeName: name, resources: { requests: { storage: "1Gi" } } },
    }),
  );
  const claimRef = { namespace: "affinity", name, uid: metadata.uid };
  const source = { nfs: { server: "192.0.2.1", path: "/" }, capacity: { storage: "1Gi" } };
  const nodeAffinity = nodeSelectorTerms && { required: { nodeSelectorTerms } };
  try {
    await create("/api/v1/persistentvolumes", {
      metadata: { name },
      spec: { ...common, ...source, claimRef, nodeAffinity },
    });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return false;
    throw error;
  }
}

async function createPod(name: string, node: string, claimName: string): Promise<void> {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
  const containers = [{ name: "main", image: "none" }];
  const tolerations = [{ operator: "Exists" }];
  const spec = { containers, volumes, tolerations, nodeSelector: { [HOST]: node } };
  await create(`${NAMESPACE}/pods`, { metadata: { name }, spec });
}

/** By the pod's name, whether the scheduler has found its node fit. */
async function decisions(count: number): Promise<ReadonlyMap<string, boolean>> {
  const decided = new Map<string, boolean>();
  const check = async (): Promise<void> => {
    const { items } = v.parse(podList, await client.request({ method: "GET", path: `${NAMESPACE}/pods` }, never));
    for (const { metadata, spec, status } of items) {
      // Where its copy of the volume is late, the scheduler refuses the pod for another reason, and tries again.
      const isRefused = status.conditions.some(
        ({ type, message }) =>
          type === "PodScheduled" && message.includes("didn't match PersistentVolume's node affinity"),
      );
      if (spec.nodeName !== undefined || isRefused) decided.set(metadata.name, spec.nodeName !== undefined);
    }
    if (decided.size < count) throw new Error(`${decided.size} of ${count} pods are decided`);
  };
  await waitUntil(owner, { what: "the scheduler's decisions", limitMs: 90_000, check, everyMs: 500 });
  return decided;
}

describe("the affinity of a PV", () => {
  it("admits the nodes that upstream's own check admits", async () => {
    await createVolume("anywhere", undefined);
    const volumes = all.flatMap((terms, n) => (taken[n] ? [{ name: `pv-${n}`, terms }] : []));
    const names = ["anywhere", ...volumes.map(({ name }) => name)];
    const pairs = names.flatMap((name) => Object.keys(NODES).map((node) => ({ name, node })));
    await Promise.all(pairs.map(({ name, node }) => createPod(`${name}-${node}`, node, name)));

    const decided = await decisions(pairs.length);

    const wrong: string[] = [];
    const seen = { matches: 0, differs: 0, unknown: 0 };
    for (const { name, terms } of volumes) {
      const affinity = parseVolumeAffinity({ required: { nodeSelectorTerms: terms } });
      for (const [node, labels] of Object.entries(NODES)) {
        const { kind } = matchVolumeAffinity(affinity, { ...labels, [HOST]: node });
        seen[kind] += 1;
        const isFit = decided.get(`${name}-${node}`);
        if (kind !== "unknown" && isFit !== (kind === "matches"))
          wrong.push(`${node} ${kind} ${JSON.stringify(terms)}`);
        if (kind === "unknown" && affinity.kind === "unreadable" && isFit)
          wrong.push(`${node} ${JSON.stringify(terms)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(Object.keys(NODES).filter((node) => !decided.get(`anywhere-${node}`))).toEqual([]);
    expect(seen.matches).toBeGreaterThan(50);
    expect(seen.differs).toBeGreaterThan(100);
  });

  it("cannot be read where the API server takes no such volume", () => {
    const refused = all.filter((_, n) => taken[n] === false);

    const readable = refused.filter((nodeSelectorTerms) => {
      const affinity = parseVolumeAffinity({ required: { nodeSelectorTerms } });
      return affinity.kind === "terms" && affinity.terms.every(({ kind }) => kind === "term");
    });
    expect(readable).toEqual([]);
    expect(refused.length).toBeGreaterThan(3);
  });
});
