import * as v from "valibot";
import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { follow, identityOf } from "../scenarios/follow.ts";

/** What the API server had of a pod when it was seen first. */
export interface PodState {
  /** Wall clock, milliseconds: it was so by then. */
  readonly seenMs: number;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Empty until it is bound. */
  readonly node: string;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** What its containers wait for; empty where they wait for nothing. */
  readonly waitingFor: readonly string[];
  readonly isReady: boolean;
  readonly restarts: number;
  readonly isDeleting: boolean;
  readonly isGone: boolean;
}

/** Keeps every state of each pod of the namespace `default`. */
export interface PodLog {
  /** Of the pod with this UID, in their order. */
  readonly states: (uid: string) => readonly PodState[];
  /** The newest state of each pod with this label `app`, pods that are gone among them, in the order in which they were seen first. */
  readonly ofApp: (app: string) => readonly PodState[];
  /** The newest state of each pod there ever was. */
  readonly all: () => readonly PodState[];
}

interface SeenPod extends Stored {
  readonly state: PodState;
}

const texts = v.optional(v.record(v.string(), v.string()), {});
const container = v.object({
  ready: v.boolean(),
  restartCount: v.number(),
  state: v.optional(v.object({ waiting: v.optional(v.object({ reason: v.optional(v.string(), "") })) }), {}),
});
const pod = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    labels: texts,
    annotations: texts,
    deletionTimestamp: v.optional(v.string()),
  }),
  spec: v.object({ nodeName: v.optional(v.string(), "") }),
  status: v.object({
    phase: v.string(),
    reason: v.optional(v.string(), ""),
    message: v.optional(v.string(), ""),
    containerStatuses: v.optional(v.array(container), []),
  }),
});

/** A pod as it is told by its JSON, by a reading of its own. Throws for what is no pod. */
export function readPod(object: unknown, seenMs: number): PodState {
  const { metadata, spec, status } = v.parse(pod, object);
  const { name, uid, labels, annotations, deletionTimestamp } = metadata;
  const { phase, reason, message, containerStatuses } = status;
  return {
    ...{ seenMs, name, uid, labels, annotations, node: spec.nodeName, phase, reason, message },
    waitingFor: containerStatuses.flatMap(({ state }) => state.waiting?.reason ?? []),
    isReady: phase === "Running" && containerStatuses.every(({ ready }) => ready),
    restarts: containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    isDeleting: deletionTimestamp !== undefined,
    isGone: false,
  };
}

/** Follows the pods from now on, until the owner ends. */
export async function startPodLog(owner: Owner, plane: ControlPlane): Promise<PodLog> {
  const { clock } = owner;
  const pods = new Map<string, PodState[]>();
  const note = (state: PodState): void => {
    pods.set(state.uid, [...(pods.get(state.uid) ?? []), { ...state, seenMs: clock.wallMs() }]);
  };
  await follow<SeenPod>(owner, plane, {
    name: "log of pods",
    path: "/api/v1/namespaces/default/pods",
    project: (object) => ({ ...identityOf(object), state: readPod(object, 0) }),
    onChange: ({ kind, object: { state } }) => note({ ...state, isGone: kind === "deleted" }),
  });
  const all = (): readonly PodState[] => [...pods.values()].flatMap((states) => states.at(-1) ?? []);
  return {
    all,
    states: (uid) => pods.get(uid) ?? [],
    ofApp: (app) => all().filter(({ labels }) => labels.app === app),
  };
}
