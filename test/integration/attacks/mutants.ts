import { readFileSync } from "node:fs";
import {
  type KubernetesObject,
  loadAllYaml,
  type V1ValidatingAdmissionPolicy,
  type V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import type { ApiCall } from "../../control-plane/api.ts";
import { type AttackStage, makeAdmin, podOf } from "./stage.ts";

const MANIFESTS = new URL("../../../manifests/", import.meta.url);
const FILES = ["agent", "aggregator", "fence"].map((name) => `base/policies/${name}.yaml`);
const ACCOUNTS = { agent: "mooring-agents:mooring-agent", aggregator: "mooring:mooring-aggregator" } as const;

/** A policy, as its file has it. */
export interface PolicyFile {
  /** Without the domain: `mooring-agent`. */
  readonly name: string;
  readonly policy: V1ValidatingAdmissionPolicy;
  readonly binding: V1ValidatingAdmissionPolicyBinding;
}

function readPolicy(file: string | URL): PolicyFile {
  const objects = loadAllYaml(readFileSync(file, "utf8"));
  const policy = objects.find(isPolicy);
  const binding = objects.find(isBinding);
  if (policy === undefined || binding === undefined) throw new Error(`${file} has no policy, or no binding`);
  return { name: policy.metadata?.name?.replace(/\.mooring\.dev$/, "") ?? "", policy, binding };
}

const POLICY_FILES = [...FILES, "components/affinity-delete/policy.yaml"].map((path) =>
  readPolicy(new URL(path, MANIFESTS)),
);

function isPolicy(object: KubernetesObject): object is V1ValidatingAdmissionPolicy {
  return object.kind === "ValidatingAdmissionPolicy";
}

function isBinding(object: KubernetesObject): object is V1ValidatingAdmissionPolicyBinding {
  return object.kind === "ValidatingAdmissionPolicyBinding";
}

/** One rule of a policy that is missing. */
export interface Mutant {
  readonly index: number;
  readonly file: PolicyFile;
  /** The message of the rule. */
  readonly rule: string;
  /** A rule that is left. */
  readonly other: string;
}

export const MUTANTS: readonly Mutant[] = POLICY_FILES.flatMap((file) => {
  const messages = (file.policy.spec?.validations ?? []).map(({ message }) => message ?? "");
  return messages.map((rule, index) => ({ file, index, rule, other: messages[index === 0 ? 1 : 0] ?? "" }));
});

/** Who a mutant of a policy is for: accounts that only it knows, which may do everything else. */
export type MutantAccounts = Readonly<Record<keyof typeof ACCOUNTS, ApiCall>>;

/**
 * Installs a policy without one of its rules, for an agent and an aggregator of their own in a namespace of their own. So all mutants are in
 * force at the same time, and nothing has to be waited for but once.
 */
export async function install(stage: AttackStage, mutant: Mutant): Promise<MutantAccounts> {
  const { api } = stage;
  const place = `${mutant.file.name}-${mutant.index}`;
  const accounts = {
    agent: { namespace: place, name: "mooring-agent" },
    aggregator: { namespace: place, name: "mooring-aggregator" },
  } as const;
  await api.create("/api/v1/namespaces", { metadata: { name: place } });
  const tokens = async (account: (typeof accounts)[keyof typeof accounts]): Promise<ApiCall> => {
    await api.create(`/api/v1/namespaces/${place}/serviceaccounts`, { metadata: { name: account.name } });
    await makeAdmin(api, `${place}-${account.name}`, account);
    return await stage.plane.apiAs({ ...account, pod: await podOf(api, account, "node-1") });
  };
  const { policy, binding } = withoutRule(mutant, place);
  const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  await api.create(`${path}ies`, policy);
  await api.create(`${path}ybindings`, binding);
  return { agent: await tokens(accounts.agent), aggregator: await tokens(accounts.aggregator) };
}

function withoutRule(
  { file: { policy, binding }, index }: Mutant,
  place: string,
): { readonly policy: object; readonly binding: object } {
  const validations = (policy.spec?.validations ?? []).filter((_, at) => at !== index);
  // A fence knows both accounts; what it says of the namespaces of their objects is to stay.
  const moved = JSON.stringify({ ...policy.spec, validations })
    .replaceAll(`serviceaccount:${ACCOUNTS.agent}`, `serviceaccount:${place}:mooring-agent`)
    .replaceAll(`serviceaccount:${ACCOUNTS.aggregator}`, `serviceaccount:${place}:mooring-aggregator`);
  const name = `${place}.mooring.dev`;
  return {
    policy: { apiVersion: policy.apiVersion, kind: policy.kind, metadata: { name }, spec: JSON.parse(moved) },
    binding: {
      apiVersion: binding.apiVersion,
      kind: binding.kind,
      metadata: { name },
      spec: { ...binding.spec, policyName: name },
    },
  };
}
