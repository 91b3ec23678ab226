import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { MESSAGE_PREFIX } from "../../../agent/core/affinity/rejection.ts";
import { AGENT_POLICY, TOKEN_RULE } from "../../../agent/sources/policy-probe.ts";
import { KEY_END } from "../../../aggregator/certificates/own-serving.ts";
import { LEASE_NAME } from "../../../aggregator/leader/leadership.ts";
import { LEADER_ROLE, ROLE_LABEL } from "../../../aggregator/sinks/leader-label.ts";
import { CONDITION_TYPE, LAST_USE, MOUNTED_ON, UNUSED_SINCE } from "../../../common/storage/claim-status.ts";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { REJECTED_ANNOTATION, REJECTION_REASON } from "../../../common/storage/rejection.ts";
import { UPSTREAM_TYPE } from "../../../common/storage/upstream-unused.ts";
import { objectsIn, textOf } from "./objects.ts";

const FILES = [
  { file: "base/policies/agent.yaml", account: "mooring-agents:mooring-agent" },
  { file: "base/policies/aggregator.yaml", account: "mooring:mooring-aggregator" },
  { file: "base/policies/fence.yaml", account: "mooring-agents:mooring-agent" },
  { file: "components/affinity-delete/policy.yaml", account: "mooring-agents:mooring-agent" },
  { file: "components/provisioner/policies.yaml", account: "mooring-provisioner:mooring-provisioner" },
] as const;

const POLICIES = FILES.flatMap(({ file, account }) => {
  const bindings = objectsIn<V1ValidatingAdmissionPolicyBinding>(file, "ValidatingAdmissionPolicyBinding");
  return objectsIn<V1ValidatingAdmissionPolicy>(file, "ValidatingAdmissionPolicy").map((policy) => ({
    ...{ name: policy.metadata?.name, file, account, policy },
    binding: bindings.find(({ spec }) => spec?.policyName === policy.metadata?.name),
  }));
});

describe.each(POLICIES)("the policy $name in $file", ({ file, account, policy, binding }) => {
  const { spec } = policy;

  it("refuses where it cannot decide", () => {
    expect(spec?.failurePolicy).toBe("Fail");
  });

  it("is bound to refuse, and to say so in the audit log", () => {
    expect(binding?.spec).toEqual({ policyName: policy.metadata?.name, validationActions: ["Deny", "Audit"] });
  });

  it("is asked about Mooring's accounts alone, by a condition that cannot fail", () => {
    const [condition, ...others] = spec?.matchConditions ?? [];

    // One that fails refuses everybody, administrators included.
    expect(condition?.expression).toMatch(/^request\.userInfo\.username (?:==|in) /);
    expect(condition?.expression).toContain(`system:serviceaccount:${account}`);
    expect(others).toEqual([]);
  });

  it("says of each rule who must not do what, once, as a refusal and not as a mistake", () => {
    const rules = spec?.validations ?? [];

    expect(rules.length).toBeGreaterThan(0);
    expect(new Set(rules.map(({ message }) => message)).size).toBe(rules.length);
    for (const { message, reason } of rules) {
      expect(message).toMatch(/^(?:an agent|the aggregator|a provisioner|Mooring) must not /);
      expect(reason).toBe("Forbidden");
    }
  });

  it("is explained", () => {
    expect(textOf("../docs/policies.md")).toContain(policy.metadata?.name);
    expect(file).toBeTruthy();
  });
});

describe("what the policies say is what the programs do", () => {
  it.each([
    { name: "the policy that an agent asks for", file: "base/policies/agent.yaml", says: `name: ${AGENT_POLICY}\n` },
    { name: "the rule about tokens", file: "base/policies/agent.yaml", says: `message: ${TOKEN_RULE}\n` },
    { name: "the reason", file: "base/policies/agent.yaml", says: `== '${REJECTION_REASON}'` },
    { name: "the begin of the message", file: "base/policies/agent.yaml", says: `startsWith('${MESSAGE_PREFIX}')` },
    { name: "the annotation", file: "base/policies/agent.yaml", says: `k == '${REJECTED_ANNOTATION}'` },
    { name: "the condition", file: "base/policies/aggregator.yaml", says: `c.type == '${CONDITION_TYPE}'` },
    { name: "Kubernetes' condition", file: "base/policies/aggregator.yaml", says: `c.type == '${UPSTREAM_TYPE}'` },
    {
      name: "the annotations of claims",
      file: "base/policies/aggregator.yaml",
      says: `['${UNUSED_SINCE}', '${MOUNTED_ON}', '${LAST_USE}']`,
    },
    { name: "the Lease", file: "base/policies/fence.yaml", says: `== 'mooring/${LEASE_NAME}'` },
    { name: "the label", file: "base/policies/fence.yaml", says: `[?'${ROLE_LABEL}'].orValue('${LEADER_ROLE}')` },
    { name: "the certificates", file: "base/policies/fence.yaml", says: `== 'mooring-agents/${CERTIFICATES_NAME}'` },
    { name: "the keys of certificates", file: "base/policies/fence.yaml", says: `k.endsWith('${KEY_END}')` },
  ])("$name", ({ file, says }) => {
    expect(textOf(file)).toContain(says);
  });
});

describe("the reasons of events that the fence admits", () => {
  const rule = POLICIES.flatMap(({ policy }) => policy.spec?.validations ?? []).find(({ message }) =>
    message?.includes("event for a reason"),
  );
  const [, ...lists] = (rule?.expression ?? "").split("[");
  const rows = textOf("../docs/events.md").matchAll(/^\| `(\w+)` \|[^|]*\|[^|]*\| (agent|aggregator) \|/gm);
  const told = [...rows].map(([, reason, by]) => ({ reason, by }));

  it.each([
    { by: "agent", list: lists[0] },
    { by: "aggregator", list: lists[1] },
  ])("of the $by are those that its page lists", ({ by, list = "" }) => {
    const admitted = [...list.matchAll(/'([^']+)'/g)].map(([, reason]) => reason);
    const listed = told.filter((one) => one.by === by).map(({ reason }) => reason);

    expect(admitted.toSorted()).toEqual([...new Set(listed)].toSorted());
    expect(admitted.length).toBeGreaterThan(0);
  });
});
