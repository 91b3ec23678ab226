import {
  choiceSetting,
  durationSetting,
  type Setting,
  switchSetting,
  type ValuesOf,
} from "../../common/runtime/settings.ts";
import { type KubeletVersion, parseKubeletVersion } from "../core/affinity/kubelet-version.ts";

/** What an agent does about pods whose volume's node affinity excludes the node. */
export type AffinityMode = "off" | "audit" | "enforce";

/** The version since which kubelets reject such pods themselves, where they do. */
const enforcesSince: Setting<KubeletVersion | undefined> = {
  name: "kubelet-enforces-since",
  description: "stand aside where the kubelet is at least of this version (1.38), for it rejects such pods itself",
  fallback: undefined,
  isSwitch: false,
  parse: (text) => {
    if (text === undefined || text === "") return undefined;
    const version = parseKubeletVersion(text);
    if (version === undefined) throw new Error(`is "${text}", must be a version like 1.38 or 1.38.2`);
    return version;
  },
};

/** The settings about node affinity. */
export const AFFINITY_SETTINGS = {
  affinity: choiceSetting(
    {
      name: "affinity",
      description: "pods whose volume's node affinity excludes this node: ignore, report, or reject them",
    },
    ["off", "audit", "enforce"],
    "audit",
  ),
  affinityGraceMs: durationSetting(
    { name: "affinity-grace", description: "time for an attach in flight, before a pod is looked at" },
    { min: 0, max: 600_000 },
    "5s",
  ),
  rejectAttached: switchSetting({
    name: "reject-attached",
    description: "also reject pods whose volume is attached or staged here, after a mount wait of the kubelet (2m3s)",
  }),
  rejectBarePods: switchSetting({
    name: "reject-bare-pods",
    description: "also reject pods that no controller would replace",
  }),
  rejectLastTries: switchSetting({
    name: "reject-last-tries",
    description: "also reject pods whose Job has no retry left and fails with them",
  }),
  deleteReverted: switchSetting({
    name: "delete-reverted",
    description: "delete a pod where the kubelet does not keep its rejection; needs a right of its own",
  }),
  deleteRejected: switchSetting({
    name: "delete-rejected",
    description: "delete a rejected pod of a controller, so that its volume can be detached; needs a right of its own",
  }),
  enforcesSince,
} as const;

/** The settings of a running agent. Durations in milliseconds. */
export interface AffinityConfig {
  readonly mode: AffinityMode;
  readonly graceMs: number;
  readonly rejectAttached: boolean;
  readonly rejectBarePods: boolean;
  readonly rejectLastTries: boolean;
  readonly deleteReverted: boolean;
  readonly deleteRejected: boolean;
  /** Undefined where no kubelet does it itself. */
  readonly enforcesSince: KubeletVersion | undefined;
}

export function affinityConfigOf(values: ValuesOf<typeof AFFINITY_SETTINGS>): AffinityConfig {
  const { affinity: mode, affinityGraceMs: graceMs, rejectAttached, rejectBarePods, rejectLastTries } = values;
  const { deleteReverted, deleteRejected, enforcesSince: since } = values;
  const rejects = { rejectAttached, rejectBarePods, rejectLastTries };
  return Object.freeze({ mode, graceMs, ...rejects, deleteReverted, deleteRejected, enforcesSince: since });
}
