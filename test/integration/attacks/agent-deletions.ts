import { type Attack, remove, ruled } from "./attack.ts";
import { RBAC } from "./refusal.ts";
import { SHOP } from "./victims.ts";

/** The messages of the policy, cut where they go on. */
const RULES = {
  node: "mooring-agent-delete: an agent must not delete a pod of another node, nor several at once",
  phase: "mooring-agent-delete: an agent must not delete a pod that is neither Pending nor rejected",
  sandbox: "mooring-agent-delete: an agent must not delete a pod that has an address or a sandbox",
  containers: "mooring-agent-delete: an agent must not delete a pod of which a container of any kind has begun",
  mark: "mooring-agent-delete: an agent must not delete a pod that does not carry the annotation",
  claim: "mooring-agent-delete: an agent must not delete a pod that names no claim",
  mirror: "mooring-agent-delete: an agent must not delete a mirror pod",
  state: "mooring-agent-delete: an agent must not delete a pod without naming its UID",
} as const;
type Rule = keyof typeof RULES;

/** A deletion as an agent makes it, of a pod that it must not delete. */
function deletion(name: string, pod: string, rule: Rule): Attack {
  const path = `${SHOP}/pods/${pod}`;
  return { ...ruled("agent", name, { ask: remove(path), rule: RULES[rule] }), aim: path };
}

function unaimed(name: string, ask: Attack["ask"], rule: Rule): Attack {
  return ruled("agent", name, { ask, rule: RULES[rule] });
}

/** What an agent must not delete that may delete pods, as components/affinity-delete gives it the right to. */
export const AGENT_DELETIONS: readonly Attack[] = [
  deletion("deletes a pod of another node", "elsewhere", "node"),
  { ...deletion("deletes a pod by a token that is bound to no pod", "reverted", "node"), by: "agent without a pod" },
  {
    ...unaimed("deletes all pods of a namespace, being allowed to delete some", remove(`${SHOP}/pods`), "node"),
    refusedBy: RBAC,
  },
  deletion("deletes a running pod", "running", "phase"),
  deletion("deletes a pod that is over", "finished", "phase"),
  deletion("deletes a pod that has an address", "addressed", "sandbox"),
  deletion("deletes a pod with a running container", "begun", "containers"),
  deletion("deletes a pod that only lacks its image", "imageless", "containers"),
  deletion("deletes a pod that was never rejected", "waiting", "mark"),
  deletion("deletes a pod without a claim", "claimless", "claim"),
  deletion("deletes a mirror pod", "mirror", "mirror"),
  unaimed("deletes whatever has the pod's name by now", remove(`${SHOP}/pods/reverted`), "state"),
];
