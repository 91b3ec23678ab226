import { REJECTED_ANNOTATION, REJECTION_REASON } from "../../../common/storage/rejection.ts";

/** The begin of every rejected pod's message, as the kubelet words it (k/k: pkg/kubelet/kubelet.go, `rejectPod`). */
export const MESSAGE_PREFIX = "Pod was rejected: ";

/** Longest message and annotation, in characters: the limit of the policy for the agent's account, and of an event's note. */
const LONGEST_TEXT = 1024;

/** A volume that is the reason. */
export interface MisplacedVolume {
  /** As the pod calls it. */
  readonly volume: string;
  readonly claim: string;
  /** Name of the PV. */
  readonly pv: string;
  /** A plain sentence. */
  readonly why: string;
}

/** Which volumes a pod has on a node that their affinity excludes: at least one. */
export interface Misplacement {
  readonly node: string;
  readonly volumes: readonly [MisplacedVolume, ...MisplacedVolume[]];
}

/** A rejection as the pod keeps it, for later runs of the agent. */
export interface Rejection extends Misplacement {
  /** By the API server's clock, RFC 3339. */
  readonly at: string;
  /** The back-off level of the pod's owner. */
  readonly level: number;
}

/** The change that rejects the pod, as a JSON merge patch of its subresource `status`. The caller adds which pod, and which state of it. */
export interface RejectionPatch {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly status: { readonly phase: "Failed"; readonly reason: string; readonly message: string };
}

/**
 * Everything in one patch: phase, reason, message and annotation stand or fall together. Without a change of the metadata the kubelet
 * would not look at the pod again, and set its phase back to Pending within ten seconds (measured with 1.36.3).
 */
export function rejectionPatch(rejection: Rejection): RejectionPatch {
  const message = `${MESSAGE_PREFIX}${misplacementText(rejection)}`.slice(0, LONGEST_TEXT);
  return {
    metadata: { annotations: { [REJECTED_ANNOTATION]: annotationOf(rejection) } },
    status: { phase: "Failed", reason: REJECTION_REASON, message },
  };
}

/** Which volume cannot be used on which node, as a sentence for messages and events. */
export function misplacementText({ node, volumes: [first, ...others] }: Misplacement): string {
  const { claim, pv, why } = first;
  const more = others.length === 0 ? "" : `; the same of ${others.map((one) => `claim ${one.claim}`).join(", ")}`;
  return `the node affinity of volume ${pv} of claim ${claim} excludes node ${node}: ${why}${more}`;
}

/** JSON of the first volume, its `why` cut until it fits, and the number of the others. */
function annotationOf({ node, at, level, volumes: [first, ...others] }: Rejection): string {
  const { volume, claim, pv, why } = first;
  const more = others.length > 0 ? { more: others.length } : {};
  const write = (cut: string): string => JSON.stringify({ volume, claim, pv, node, at, level, ...more, why: cut });
  let cut = why.slice(0, LONGEST_TEXT);
  for (let excess = write(cut).length - LONGEST_TEXT; excess > 0 && cut !== ""; ) {
    // An escaped character takes up to six in JSON.
    cut = cut.slice(0, -Math.ceil(excess / 6));
    excess = write(cut).length - LONGEST_TEXT;
  }
  return write(cut);
}
