import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Rejection, rejectionPatch } from "../../../agent/core/affinity/rejection.ts";
import { ownerEvent, type PodTelling, podEvent } from "../../../agent/sinks/affinity-events.ts";
import { anomalyEvent } from "../../../agent/sinks/anomaly-events.ts";
import { createPodRejector } from "../../../agent/sinks/pod-rejector.ts";
import { createPolicyProbe } from "../../../agent/sources/policy-probe.ts";
import { writeTexts } from "../../../aggregator/certificates/objects.ts";
import { type ClaimWarning, claimEvent } from "../../../aggregator/sinks/claim-events.ts";
import { createClaimStatusWriter } from "../../../aggregator/sinks/claim-status-writer.ts";
import { patchObject } from "../../../common/kube/apply.ts";
import { createKubeClient, type KubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { createEventRecorder, type KubeEvent } from "../../../common/kube/events.ts";
import { createLeaseStore } from "../../../common/kube/lease.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { type Claim, projectClaim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { waitUntil } from "../../process/wait.ts";
import { type AttackStage, openAttackStage, untilInForce } from "./stage.ts";
import { SHOP, waitingPod } from "./victims.ts";

const { signal } = new AbortController();
const AGGREGATOR = { namespace: "mooring", name: "mooring-aggregator" } as const;
const AGENT = { namespace: "mooring-agents", name: "mooring-agent" } as const;
const identity = v.object({ metadata: v.object({ name: v.string(), uid: v.string(), resourceVersion: v.string() }) });

let owner: Owner;
let signals: Disposable;
let stage: AttackStage;
let agent: KubeClient;
let aggregator: KubeClient;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAttackStage(owner);
  agent = await clientOf(AGENT, "/api/v1/namespaces/mooring-agents/pods/mooring-agent-node-1");
  aggregator = await clientOf(AGGREGATOR, "/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1");
  await untilInForce(stage);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** As the program has it, with the token of its pod. */
async function clientOf(account: typeof AGENT | typeof AGGREGATOR, pod: string): Promise<KubeClient> {
  const { name, uid } = v.parse(identity, await stage.api.get(pod)).metadata;
  const kubeconfig = await stage.plane.kubeconfigFor({ serviceAccount: { ...account, pod: { name, uid } } });
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => client.close());
  return client;
}

const REJECTION: Rejection = {
  node: "node-1",
  volumes: [{ volume: "data", claim: "data", pv: "pv-data", why: `zone is "a" and not in "b" ${"é".repeat(2_000)}` }],
  at: "2026-01-01T00:00:00.000Z",
  level: 3,
};

async function reject(name: string): Promise<string> {
  const { metadata } = v.parse(identity, await stage.api.get(`${SHOP}/pods/${name}`));
  const rejector = createPodRejector({ client: agent, clock: owner.clock });
  const pod = { namespace: "shop", ...metadata };
  const outcome = await rejector.reject({ pod, patch: rejectionPatch(REJECTION), mayBeSent: () => true }, signal);
  return outcome.kind === "rejected" ? outcome.kind : `${outcome.kind}: ${outcome.why}`;
}

const WAITING = { name: "main", image: "none", imageID: "", ready: false, restartCount: 0 } as const;
const creating = (reason: string, name = "main"): object => ({ ...WAITING, name, state: { waiting: { reason } } });
const CONDITION = { type: "PodReadyToStartContainers", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" };
const EPHEMERAL = {
  volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
} as const;

describe("an agent rejects", () => {
  it.each<{ readonly name: string; readonly pod: Parameters<typeof waitingPod>[1] }>([
    { name: "a pod that nobody has looked at yet", pod: { name: "right-1" } },
    {
      name: "a pod whose containers are being created",
      pod: {
        name: "right-2",
        status: { containerStatuses: [creating("ContainerCreating")], conditions: [CONDITION], hostIP: "192.0.2.1" },
      },
    },
    {
      name: "a pod whose init container waits, and the others for it",
      pod: {
        name: "right-3",
        spec: { initContainers: [{ name: "first", image: "none" }] },
        status: {
          initContainerStatuses: [creating("PodInitializing", "first")],
          containerStatuses: [creating("PodInitializing")],
        },
      },
    },
    {
      name: "a pod with a generic ephemeral volume",
      pod: { name: "right-4", spec: { volumes: [{ name: "data", ephemeral: EPHEMERAL }] } },
    },
    {
      name: "a pod with as many annotations as it may have",
      pod: {
        name: "right-5",
        metadata: { annotations: Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`theirs-${i}`, "x"])) },
      },
    },
    {
      name: "a pod that came back from its rejection",
      pod: { name: "right-6", metadata: { annotations: { "mooring.dev/rejected": '{"level":1}' } } },
    },
    {
      name: "a pod with labels, owners and finalizers",
      pod: {
        name: "right-7",
        metadata: {
          labels: { app: "shop" },
          finalizers: ["example.com/keep"],
          ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u", controller: true }],
        },
      },
    },
  ])("$name", async ({ pod }) => {
    await waitingPod(stage.api, pod);

    expect(await reject(pod.name)).toBe("rejected");
  });

  it("only once the policy was seen in force, which it is", async () => {
    const { metadata } = v.parse(
      identity,
      await stage.api.get("/api/v1/namespaces/mooring-agents/pods/mooring-agent-node-1"),
    );
    const ownPod = { namespace: "mooring-agents", ...metadata };
    const probe = createPolicyProbe({ client: agent, clock: owner.clock, ownPod: () => ownPod });

    expect(await probe(signal)).toEqual({ kind: "in-force" });
  });
});

/** What became of each, as it is counted. */
async function emitAll(
  speaker: { readonly client: KubeClient; readonly controller: string; readonly instance: string },
  events: readonly KubeEvent[],
): Promise<readonly string[]> {
  const outcomes: string[] = [];
  const logger = createFakeLogger();
  const { client, ...who } = speaker;
  const parts = { client, clock: owner.clock, random: createSystemRandom(), logger };
  const counter = { increment: ({ outcome }: { readonly outcome: string }) => void outcomes.push(outcome) };
  const recorder = createEventRecorder(parts, { ...who, outcomes: counter });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  for (const event of events) recorder.emit(event);
  const check = async (): Promise<void> => {
    if (outcomes.length < events.length)
      throw new Error(`there are ${outcomes.length}: ${JSON.stringify(logger.lines)}`);
  };
  await waitUntil(owner, { what: "outcomes of all events", limitMs: 20_000, check });
  stop.abort();
  await running;
  return outcomes;
}

const TELLINGS: readonly PodTelling[] = ["rejected", "would-reject", "waits-attached", "runs-misplaced"];
const OWNERS = [
  { apiVersion: "apps/v1", kind: "ReplicaSet" },
  { apiVersion: "apps/v1", kind: "StatefulSet" },
  { apiVersion: "apps/v1", kind: "DaemonSet" },
  { apiVersion: "batch/v1", kind: "Job" },
  { apiVersion: "v1", kind: "ReplicationController" },
  { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet" },
] as const;

function agentEvents(): readonly KubeEvent[] {
  const nowMs = owner.clock.wallMs();
  const pod = { namespace: "shop", name: "waiting", uid: "u-waiting" };
  const about = { namespace: "shop", node: "node-1", why: "too many", waitMs: 60_000, nowMs };
  const hold = {
    kind: "pod",
    podUid: pod.uid,
    volume: { by: "name", name: "pv-data" },
  } as const;
  const anomaly = (["unmounted-while-running", "remounted-while-running"] as const).flatMap((why) => {
    const event = anomalyEvent({ kind: "anomaly", hold, pod: "shop/waiting", why }, { node: "node-1", nowMs });
    return event === undefined ? [] : [event];
  });
  return [
    ...TELLINGS.map((telling) => podEvent(telling, { pod, misplacement: REJECTION, nowMs })),
    ...OWNERS.map((kind) => ownerEvent({ ...kind, name: `owner-${kind.kind.toLowerCase()}`, uid: "u" }, about)),
    ...anomaly,
  ];
}

describe("the events", () => {
  it("of an agent are taken, and counted on when they repeat", async () => {
    const speaker = { client: agent, controller: "mooring.dev/agent", instance: "node-1" };
    const events = agentEvents();
    const [owned] = events.filter(({ once }) => once === undefined);

    const outcomes = await emitAll(speaker, owned === undefined ? events : [...events, owned, owned]);

    expect(events).toHaveLength(TELLINGS.length + OWNERS.length + 2);
    expect(outcomes.filter((one) => one === "written")).toHaveLength(events.length);
    expect(outcomes).not.toContain("failed");
  });

  it("of the aggregator are taken", async () => {
    const warnings: readonly ClaimWarning[] = [
      { kind: "unused-while-mounted", nodes: ["node-1"] },
      { kind: "write-refused", reason: "Invalid", message: "no" },
      { kind: "put-back", annotation: "mooring.dev/last-use", managers: ["kubectl"] },
    ];
    const claim = await readClaim();
    const speaker = { client: aggregator, controller: "mooring.dev/aggregator", instance: "mooring-aggregator-1" };

    const outcomes = await emitAll(
      speaker,
      warnings.map((warning) => claimEvent(claim, warning, owner.clock.wallMs())),
    );

    expect(outcomes).toEqual(["written", "written", "written"]);
  });
});

const CLAIM = `${SHOP}/persistentvolumeclaims/data`;

async function readClaim(): Promise<Claim> {
  return projectClaim(await stage.api.get(CLAIM));
}

const MOUNTED: ClaimStatus = {
  unused: false,
  reason: "Mounted",
  message: "mounted on node node-1",
  sinceMs: 1_767_000_000_000,
  mountedOn: { nodes: Array.from({ length: 32 }, (_, i) => `${i}.${"n".repeat(240)}.example.com`), more: true },
  lastUse: undefined,
};
const UNMOUNTED: ClaimStatus = {
  ...MOUNTED,
  unused: true,
  reason: "Unmounted",
  message: "m".repeat(3_000),
  sinceMs: 1_767_000_100_000,
  mountedOn: undefined,
  lastUse: {
    releaseId: "r-1",
    node: "node-1",
    pod: "shop/web",
    podUid: "u",
    releasedAtMs: 1_767_000_100_000,
    uncertaintyMs: 3,
    evidence: "mount-table",
  },
  blindGap: { fromMs: 1_767_000_000_000, toMs: 1_767_000_050_000 },
};

describe("the aggregator writes", () => {
  const writer = (): ReturnType<typeof createClaimStatusWriter> => {
    const metrics = createMetrics();
    const writes = metrics.counter({ name: "mooring_a_total", help: "a", labels: ["outcome"] });
    const seconds = metrics.histogram({ name: "mooring_b_seconds", help: "b", buckets: [1] });
    return createClaimStatusWriter({ client: aggregator, clock: owner.clock, writes, seconds });
  };

  it.each<{ readonly name: string; readonly status: ClaimStatus }>([
    { name: "that a claim is mounted on many nodes", status: MOUNTED },
    { name: "that it is unused, since when, by whom, and what nobody saw", status: UNMOUNTED },
    { name: "that only a pod names it", status: { ...MOUNTED, reason: "Referenced", mountedOn: undefined } },
    { name: "that it was given up with its node", status: { ...UNMOUNTED, reason: "NodeGone" } },
    {
      name: "that it was never seen in use",
      status: { ...UNMOUNTED, reason: "NeverObservedInUse", lastUse: undefined },
    },
  ])("$name", async ({ status }) => {
    const result = await writer().apply(await readClaim(), { status, upstream: "none" }, signal);

    expect(result).toMatchObject({ kind: "written", claim: { status: { reason: status.reason } } });
  });

  it("nothing new, when it repeats itself", async () => {
    const first = await writer().apply(await readClaim(), { status: UNMOUNTED, upstream: "none" }, signal);
    const again = await writer().apply(await readClaim(), { status: UNMOUNTED, upstream: "none" }, signal);

    expect([first.kind, again.kind]).toEqual(["written", "written"]);
  });

  it("annotations away that do not fit", async () => {
    await stage.api.patch(CLAIM, { metadata: { annotations: { "mooring.dev/mounted-on": "forged" } } });

    const result = await writer().clean(await readClaim(), ["mooring.dev/mounted-on"], signal);

    expect(result.kind).toBe("written");
  });

  it("Kubernetes' own condition where nobody else does: beside its own, changed with it, and taken back", async () => {
    await stage.api.create(`${SHOP}/persistentvolumeclaims`, {
      metadata: { name: "old" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const read = async (): Promise<Claim> => projectClaim(await stage.api.get(`${SHOP}/persistentvolumeclaims/old`));
    const write = async (status: ClaimStatus, upstream: "all" | "key" | "none"): Promise<string> =>
      (await writer().apply(await read(), { status, upstream }, signal)).kind;

    const kinds = [await write(UNMOUNTED, "all"), await write(MOUNTED, "all"), await write(UNMOUNTED, "none")];

    expect(kinds).toEqual(["written", "written", "written"]);
    expect((await read()).upstream).toBeUndefined();
  });

  it("its Lease: made, renewed, and with what pods were watched", async () => {
    const leases = createLeaseStore(aggregator, { ...AGGREGATOR, fieldManager: "mooring-aggregator" });
    const renewTime = formatMicroTime(owner.clock.wallMs());
    const change = { holder: "a", durationMs: 15_000, renewTime, annotations: { "mooring.dev/pod-coverage": "{}" } };

    const made = await leases.create(change, signal);
    const lease = await leases.read(signal);
    const renewed = lease && (await leases.update(lease, { ...change, holder: "b", transitions: 1 }, signal));

    expect([made.kind, renewed?.kind]).toEqual(["written", "written"]);
  });

  it.each([
    { name: "the leader's label onto its pod", role: "leader" },
    { name: "the leader's label onto its pod once more", role: "leader" },
    { name: "the label away from its pod", role: null },
  ])("$name", async ({ role }) => {
    const path = "/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1";
    const { name, uid } = v.parse(identity, await stage.api.get(path)).metadata;
    const target = { apiVersion: "v1", kind: "Pod", path, namespace: "mooring", name, uid };
    const patch = { metadata: { labels: { "mooring.dev/role": role } } };

    expect(await patchObject(aggregator, { target, patch, fieldManager: "a" }, signal)).toMatchObject({
      kind: "applied",
    });
  });
});

describe("the aggregator keeps its certificates", () => {
  const TLS = { "tls.crt": "a", "tls.key": "b" } as const;

  it.each([
    { kind: "Secret", namespace: "mooring", name: "mooring-aggregator-tls", type: "kubernetes.io/tls", texts: TLS },
    { kind: "Secret", namespace: "mooring", name: "mooring-aggregator-ca", type: "Opaque", texts: { "1.crt": "a" } },
    {
      kind: "ConfigMap",
      namespace: "mooring-agents",
      name: "mooring-aggregator-ca",
      type: undefined,
      texts: { "ca.crt": "a" },
    },
  ] as const)("in the $kind $namespace/$name", async ({ kind, namespace, name, type, texts }) => {
    const parts = { client: aggregator, random: createSystemRandom() };
    const content = { texts, ...(type && { type }), annotations: { "mooring.dev/test": "a" } };

    const refusal = await writeTexts(parts, { place: { kind, namespace, name }, seen: undefined, content }, signal);

    expect(refusal).toBeUndefined();
    expect(await stage.kubectl("get", kind, name, "-n", namespace, "-o", "name")).toContain(name);
  });
});
