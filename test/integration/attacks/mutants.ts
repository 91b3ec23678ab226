import { readFileSync } from "node:fs";
import {
  type KubernetesObject,
  loadAllYaml,
  type V1ValidatingAdmissionPolicy,
  type V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import type { ApiCall } from "../../rig/control-plane/api.ts";
import type { ClusterApi } from "../../rig/stand-in/cluster-api.ts";
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

/** The policies of a file, each with its binding. */
export function readPolicies(path: string): readonly PolicyFile[] {
  const objects = loadAllYaml(readFileSync(new URL(path, MANIFESTS), "utf8"));
  return objects.filter(isPolicy).map((policy) => {
    const name = policy.metadata?.name ?? "";
    const binding = objects.filter(isBinding).find(({ spec }) => spec?.policyName === name);
    if (binding === undefined) throw new Error(`${path}: ${name} has no binding`);
    return { name: name.replace(/\.mooring\.dev$/, ""), policy, binding };
  });
}

const POLICY_FILES = [...FILES, "components/affinity-delete/policy.yaml"].flatMap(readPolicies);

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
  /** A rule that is left, if there is one. */
  readonly other: string | undefined;
}

export const MUTANTS: readonly Mutant[] = POLICY_FILES.flatMap(mutantsOf);

/** A policy without one rule, for each of its rules. */
export function mutantsOf(file: PolicyFile): readonly Mutant[] {
  const messages = (file.policy.spec?.validations ?? []).map(({ message }) => message ?? "");
  return messages.map((rule, index) => ({ file, index, rule, other: messages[index === 0 ? 1 : 0] }));
}

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
  // A fence knows both accounts; what it says of the namespaces of their objects is to stay.
  const moves = Object.values(ACCOUNTS).map((account) => [account, `${place}:${account.split(":")[1]}`] as const);
  await installWithoutRule(api, mutant, { place, moves });
  return { agent: await tokens(accounts.agent), aggregator: await tokens(accounts.aggregator) };
}

/** Where a mutant is installed, and which accounts it is for in place of which. */
interface Move {
  readonly place: string;
  readonly moves: readonly (readonly [from: string, to: string])[];
}

/** Installs a policy without the rule, or with one that is always kept where there is no other. */
export async function installWithoutRule(
  api: ClusterApi,
  { file: { policy, binding }, index }: Mutant,
  { place, moves }: Move,
): Promise<void> {
  const left = (policy.spec?.validations ?? []).filter((_, at) => at !== index);
  const validations = left.length === 0 ? [{ expression: "true" }] : left;
  const moved = moves.reduce(
    (text, [from, to]) => text.replaceAll(`serviceaccount:${from}`, `serviceaccount:${to}`),
    JSON.stringify({ ...policy.spec, validations }),
  );
  const name = `${place}.mooring.dev`;
  const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  const { apiVersion, kind } = policy;
  await api.create(`${path}ies`, { apiVersion, kind, metadata: { name }, spec: JSON.parse(moved) });
  await api.create(`${path}ybindings`, {
    ...{ apiVersion: binding.apiVersion, kind: binding.kind, metadata: { name } },
    spec: { ...binding.spec, policyName: name },
  });
}
