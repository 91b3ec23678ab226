import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { type Rejection, rejectionPatch } from "../../../agent/core/affinity/rejection.ts";
import { ownerEvent, type PodEventKind, podEvent } from "../../../agent/sinks/affinity-events.ts";
import { anomalyEvent } from "../../../agent/sinks/anomaly-events.ts";
import { createPodRejector } from "../../../agent/sinks/pod-rejector.ts";
import type { KubeEvent } from "../../../common/kube/kube-event.ts";
import { clientOf, emitAll, identity } from "./program.ts";
import type { AttackStage } from "./stage.ts";
import { SHOP, waitingPod } from "./victims.ts";

const AGENT = { namespace: "mooring-agents", name: "mooring-agent" } as const;

const REJECTION: Rejection = {
  node: "node-1",
  volumes: [{ volume: "data", claim: "data", pv: "pv-data", why: `zone is "a" and not in "b" ${"é".repeat(2_000)}` }],
  at: "2026-01-01T00:00:00.000Z",
  level: 3,
};

async function reject(stage: AttackStage, name: string): Promise<string> {
  const { metadata } = v.parse(identity, await stage.api.get(`${SHOP}/pods/${name}`));
  const client = await clientOf(stage, AGENT);
  const rejector = createPodRejector({ client, clock: stage.owner.clock });
  const pod = { namespace: "shop", ...metadata };
  const outcome = await rejector.reject(
    { pod, patch: rejectionPatch(REJECTION), mayBeSent: () => true },
    stage.owner.signal,
  );
  return outcome.kind === "rejected" ? outcome.kind : `${outcome.kind}: ${outcome.why}`;
}

const WAITING = { name: "main", image: "none", imageID: "", ready: false, restartCount: 0 } as const;
const creating = (reason: string, name = "main"): object => ({ ...WAITING, name, state: { waiting: { reason } } });
const CONDITION = { type: "PodReadyToStartContainers", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" };
const EPHEMERAL = {
  volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
} as const;

const TELLINGS: readonly PodEventKind[] = ["rejected", "would-reject", "waits-attached", "runs-misplaced"];
const OWNERS = [
  { apiVersion: "apps/v1", kind: "ReplicaSet" },
  { apiVersion: "apps/v1", kind: "StatefulSet" },
  { apiVersion: "apps/v1", kind: "DaemonSet" },
  { apiVersion: "batch/v1", kind: "Job" },
  { apiVersion: "v1", kind: "ReplicationController" },
  { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet" },
] as const;

function agentEvents(nowMs: number): readonly KubeEvent[] {
  const pod = { namespace: "shop", name: "waiting", uid: "u-waiting" };
  const about = { namespace: "shop", node: "node-1", why: "too many", waitMs: 60_000, nowMs };
  const mountedVolume = {
    kind: "pod",
    podUid: pod.uid,
    volume: { by: "name", name: "pv-data" },
  } as const;
  const anomaly = (["unmounted-while-running", "remounted-while-running"] as const).flatMap((why) => {
    const event = anomalyEvent({ kind: "anomaly", mountedVolume, pod: "shop/waiting", why }, { node: "node-1", nowMs });
    return event === undefined ? [] : [event];
  });
  return [
    ...TELLINGS.map((telling) => podEvent(telling, { pod, misplacement: REJECTION, nowMs })),
    ...OWNERS.map((kind) => ownerEvent({ ...kind, name: `owner-${kind.kind.toLowerCase()}`, uid: "u" }, about)),
    ...anomaly,
  ];
}

/** What an agent does must be allowed; each row is something that it does. */
export function describeAgent(stage: () => AttackStage): void {
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
      await waitingPod(stage().api, pod);

      expect(await reject(stage(), pod.name)).toBe("rejected");
    });
  });

  describe("the events", () => {
    it("that an agent writes are taken, and counted on when they repeat", async () => {
      const client = await clientOf(stage(), AGENT);
      const speaker = { client, controller: "mooring.dev/agent", instance: "node-1" };
      const events = agentEvents(stage().owner.clock.wallMs());
      const [owned] = events.filter(({ once }) => once === undefined);

      const outcomes = await emitAll(stage(), speaker, owned === undefined ? events : [...events, owned, owned]);

      expect(events).toHaveLength(TELLINGS.length + OWNERS.length + 2);
      expect(outcomes).not.toContain("failed");
      expect(outcomes.filter((one) => one === "written")).toHaveLength(events.length);
    });
  });
}
