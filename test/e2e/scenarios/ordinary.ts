import { makeClaim } from "./claims.ts";
import { makeEphemeral } from "./ephemeral.ts";
import { untilCondition, untilMounted } from "./failures/conditions.ts";
import { endHeart, runHeart } from "./heartbeat.ts";
import { makeJob } from "./jobs.ts";
import { endOfUse, userEnd } from "./last-use.ts";
import { deletePod, makePod, runPod, untilPhase, untilRunning } from "./pods.ts";
import { type Scenario, UNMOUNTED } from "./scenario.ts";

/** One pod, which is deleted. */
const DELETED: readonly Scenario[] = [
  {
    name: "a volume that is attached and staged",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a volume that is neither attached nor staged",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
      const pod = await runPod(stage, { name: claim, node: "node-2", claim });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a raw block volume",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "block" });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim, isBlock: true });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a local volume",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "local", node: "node-2" });
      const pod = await runPod(stage, { name: claim, node: "node-2", claim });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "two containers that see different subPaths of a volume",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim, subPaths: ["one", "two/three"] });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    // The kubelet mounts nothing on the node: the end is known from the pod's status only.
    name: "a hostPath volume, which is never mounted",
    expected: { reason: "NoPodUsing", evidence: "pod-status" },
    play: async (stage, claim) => {
      await makeClaim(stage, claim, { kind: "host-path", node: "node-1" });
      return await endHeart(stage, await runHeart(stage, { name: claim, node: "node-1", claim }));
    },
  },
];

/** A generic ephemeral claim is called after its pod and the volume there. */
const EPHEMERAL: readonly Scenario[] = [
  {
    // What is published of it is seen by nobody a moment later: only that it was never called unused before its end counts.
    name: "a generic ephemeral claim, which goes with its pod",
    expected: "gone",
    play: async (stage, claim) => {
      const { pod, volume } = await makeEphemeral(stage, claim, { node: "node-1" });
      await untilRunning(stage, pod);
      await untilMounted(stage, claim);
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a generic ephemeral claim of a pod that is done and stays",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const { pod, volume } = await makeEphemeral(stage, claim, { node: "node-2", line: "sleep 1" });
      await untilPhase(stage, pod, "Succeeded");
      return await endOfUse(stage, volume, [pod]);
    },
  },
];

/** Several pods on one claim. */
const SHARED: readonly Scenario[] = [
  {
    name: "two pods of a node, deleted one after the other",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const first = await runPod(stage, { name: `${claim}-first`, node: "node-1", claim });
      const second = await runPod(stage, { name: `${claim}-second`, node: "node-1", claim });
      await deletePod(stage, first);
      await endOfUse(stage, volume, [first]);
      await deletePod(stage, second);
      return await endOfUse(stage, volume, [first, second]);
    },
  },
  {
    name: "pods on two nodes, deleted one after the other",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain", accessModes: ["ReadWriteMany"] });
      const first = await runPod(stage, { name: `${claim}-first`, node: "node-1", claim });
      const second = await runPod(stage, { name: `${claim}-second`, node: "node-2", claim });
      await deletePod(stage, first);
      await endOfUse(stage, volume, [first]);
      await deletePod(stage, second);
      return await endOfUse(stage, volume, [first, second]);
    },
  },
  {
    name: "pods on two nodes, deleted at once",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached", accessModes: ["ReadWriteMany"] });
      const pods = await Promise.all([
        runPod(stage, { name: `${claim}-first`, node: "node-1", claim }),
        runPod(stage, { name: `${claim}-second`, node: "node-2", claim }),
      ]);
      await Promise.all(pods.map((pod) => deletePod(stage, pod)));
      return await endOfUse(stage, volume, pods);
    },
  },
];

/** Pods that end by themselves, or never begin. */
const UNASKED: readonly Scenario[] = [
  {
    name: "a claim that no pod ever names",
    expected: { reason: "NeverObservedInUse", evidence: "none" },
    play: async (stage, claim) => {
      await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      return undefined;
    },
  },
  {
    name: "a Job that is done, its pod left lying",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await makeJob(stage, { name: claim, node: "node-1", claim, line: "sleep 2" });
      await untilPhase(stage, pod, "Succeeded");
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a pod whose command ends at once",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
      const pod = await makePod(stage, { name: claim, node: "node-2", claim, line: "true" });
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    // No mount, no process: its use is that it names the claim, and ends with the request to delete it. Nobody has used the volume.
    name: "a pod that is deleted before it is scheduled",
    expected: { reason: "NoPodUsing", evidence: "none" },
    play: async (stage, claim) => {
      const { clock } = stage.owner;
      await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await makePod(stage, { name: claim, node: "node-1", claim, isGated: true });
      // Who comes and goes within a moment may not be told of.
      await untilCondition(stage, claim, { by: "mooring", status: "False", reason: "Referenced" });
      const beganMs = clock.wallMs();
      await deletePod(stage, pod);
      const end = { afterMs: beganMs, byMs: clock.wallMs() };
      return { ...end, users: [{ ...userEnd(pod, { ...end, beganMs }), isShown: false }] };
    },
  },
];

/** What claims are used for on any day. */
export const ORDINARY: readonly Scenario[] = [...DELETED, ...EPHEMERAL, ...SHARED, ...UNASKED];
