import { outcomeOf } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/** The policy that confines what an agent may do to pods (manifests/base/policies/agent.yaml). */
export const AGENT_POLICY = "mooring-agent.mooring.dev";

/** What the API server showed about the policy that confines this agent's account. */
export type PolicyFinding =
  /** It refused what the policy forbids, in the policy's name. */
  | { readonly kind: "in-force" }
  /** It would have done what the policy forbids: the policy is missing, not bound, or only warns, or the server knows no policies. */
  | { readonly kind: "missing"; readonly why: string }
  /** The account may not change the status of pods at all: there is nothing to confine. */
  | { readonly kind: "forbidden"; readonly why: string }
  /** Neither was seen. */
  | { readonly kind: "unknown"; readonly why: string };

/** Asks whether the policy is in force now. Rejects only for a bug. */
export type PolicyProbe = (signal: AbortSignal) => Promise<PolicyFinding>;

interface ProbeParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The agent's own pod; undefined before it has been seen. */
  readonly ownPod: () => { readonly namespace: string; readonly name: string; readonly uid: string } | undefined;
}

/** An answer that takes longer says nothing. Milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Asks the API server, in a dry run, for what the policy forbids: to write the status of a pod without a change. The pod is the agent's
 * own, which runs, so even a server that carried it out would change nothing. (Policies see a write that changes nothing: tried with
 * 1.36.3, test/integration/attacks.)
 */
export function createPolicyProbe({ client, clock, ownPod }: ProbeParts): PolicyProbe {
  return async (signal) => {
    const pod = ownPod();
    if (pod === undefined) return { kind: "unknown", why: "the agent's own pod is not among those of its node" };
    const path = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/status`;
    const request = {
      method: "PATCH",
      path,
      query: { dryRun: "All", fieldManager: "mooring-agent" },
      contentType: "application/merge-patch+json",
      body: { metadata: { uid: pod.uid } },
    } as const;
    try {
      await withDeadline({ clock, signal }, ANSWER_MS, (limited) => client.request(request, limited));
    } catch (error) {
      return findingIn(error, pod);
    }
    return { kind: "missing", why: `the API server lets through what the policy ${AGENT_POLICY} forbids` };
  };
}

/** k8s.io/apiserver: pkg/admission/plugin/policy/validating/dispatcher.go. */
const DENIAL = `ValidatingAdmissionPolicy '${AGENT_POLICY}' with binding `;

/** The rule of the policy that no rejection would pass: the token, or its node, is not the right one. */
export const TOKEN_RULE = "an agent must not change a pod of another node, nor act by a token that names no node";

function findingIn(error: unknown, pod: { readonly name: string }): PolicyFinding {
  if (!(error instanceof MooringError)) throw error;
  const why = messageOf(error);
  if (!(error instanceof ApiError) || error.status !== 403) return { kind: "unknown", why };
  if (why.includes(TOKEN_RULE)) return { kind: "unknown", why: `the agent's token is not for its own node: ${why}` };
  if (why.includes(DENIAL)) return { kind: "in-force" };
  // Another policy or a webhook that forbids it says nothing about this one.
  return { kind: outcomeOf(error, pod) === undefined ? "forbidden" : "unknown", why };
}
