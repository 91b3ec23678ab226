import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
} from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { LEASE_NAME } from "../../../aggregator/leader/leadership.ts";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { objectsIn } from "./objects.ts";
import { rightsOf } from "./rights.ts";

const FILES = ["base/rbac.yaml", "base/certificates.yaml"];
type AnyRole = V1ClusterRole | V1Role;

const ROLES = FILES.flatMap((file) => [
  ...objectsIn<V1ClusterRole>(file, "ClusterRole"),
  ...objectsIn<V1Role>(file, "Role"),
]);
const BINDINGS = FILES.flatMap((file) => [
  ...objectsIn<V1ClusterRoleBinding>(file, "ClusterRoleBinding"),
  ...objectsIn<V1RoleBinding>(file, "RoleBinding"),
]);

/** What the roles with this name give. */
function rightsNamed(name: string): readonly string[] {
  return ROLES.filter(({ metadata }) => metadata?.name === name)
    .flatMap(rightsOf)
    .toSorted();
}

function accountOf({ namespace, name }: RbacV1Subject): string {
  return `${namespace}/${name}`;
}

describe("the rights", () => {
  it("of the agent are to see pods, what judges them and whom to trust, and to write events", () => {
    const followed = ["nodes", "pods"].flatMap((resource) =>
      ["get", "list", "watch"].map((verb) => `everywhere: ${verb} ${resource}`),
    );
    const read = [
      "persistentvolumeclaims",
      "persistentvolumes",
      "storage.k8s.io/csidrivers",
      "storage.k8s.io/csinodes",
    ];

    expect(rightsNamed("mooring-agent")).toEqual(
      [
        ...followed,
        ...[...read, "batch/jobs"].map((resource) => `everywhere: get ${resource}`),
        "everywhere: create events.k8s.io/events",
        "everywhere: patch events.k8s.io/events",
        `mooring-agents: get configmaps ${CERTIFICATES_NAME}`,
      ].toSorted(),
    );
  });

  it.each([
    { component: "affinity-rights", rights: ["everywhere: patch pods/status"] },
    { component: "affinity-delete", rights: ["everywhere: delete pods"] },
  ])("of the agent grow with $component, and by nothing else", ({ component, rights }) => {
    const file = `components/${component}/rbac.yaml`;
    const bindings = objectsIn<V1ClusterRoleBinding>(file, "ClusterRoleBinding");

    expect(objectsIn<V1ClusterRole>(file, "ClusterRole").flatMap(rightsOf)).toEqual(rights);
    expect(bindings.flatMap(({ subjects = [] }) => subjects.map(accountOf))).toEqual(["mooring-agents/mooring-agent"]);
  });

  it("of the aggregator are to see what decides, to write claims' status, and to lead", () => {
    const core = ["nodes", "persistentvolumeclaims", "persistentvolumes", "pods"];
    const seen = [...core, "storage.k8s.io/storageclasses"];

    expect(rightsNamed("mooring-aggregator")).toEqual(
      [
        ...seen.flatMap((resource) => [`everywhere: list ${resource}`, `everywhere: watch ${resource}`]),
        "everywhere: create events.k8s.io/events",
        "everywhere: patch events.k8s.io/events",
        "everywhere: get namespaces kube-system",
        "everywhere: patch persistentvolumeclaims/status",
        "everywhere: patch persistentvolumes/status",
        "mooring: create coordination.k8s.io/leases",
        `mooring: get coordination.k8s.io/leases ${LEASE_NAME}`,
        `mooring: patch coordination.k8s.io/leases ${LEASE_NAME}`,
        "mooring: patch pods",
        ...["get", "create", "patch"].map((verb) => `mooring-agents: ${verb} configmaps ${CERTIFICATES_NAME}`),
        "everywhere: create authentication.k8s.io/tokenreviews",
      ].toSorted(),
    );
  });

  it("shrink with given-certificates by all that concerns ConfigMaps, and by nothing else; none is about a Secret", () => {
    const emptied = objectsIn<V1Role>("components/given-certificates/rights.yaml", "Role");
    const same = (one: AnyRole, other: AnyRole): boolean =>
      one.metadata?.name === other.metadata?.name && one.metadata?.namespace === other.metadata?.namespace;
    const before = ROLES.filter((role) => emptied.some((one) => one.kind === role.kind && same(one, role)));
    const ofCertificates = ROLES.flatMap(rightsOf).filter((right) => /secrets|configmaps/.test(right));

    expect(emptied.map(({ rules }) => rules)).toEqual([[], []]);
    expect(before.flatMap(rightsOf)).toEqual(ofCertificates);
    expect(ofCertificates.filter((right) => right.includes("secrets"))).toEqual([]);
  });

  it("are given by name, to nobody else, and each role is given once", () => {
    const given = BINDINGS.map(({ metadata, roleRef, subjects = [] }) => ({
      role: `${metadata?.namespace ?? "everywhere"}: ${roleRef.kind} ${roleRef.name}`,
      to: subjects.map(accountOf),
    }));

    expect(given).toEqual([
      { role: "everywhere: ClusterRole mooring-agent", to: ["mooring-agents/mooring-agent"] },
      { role: "everywhere: ClusterRole mooring-aggregator", to: ["mooring/mooring-aggregator"] },
      { role: "mooring: Role mooring-aggregator", to: ["mooring/mooring-aggregator"] },
      { role: "mooring-agents: Role mooring-aggregator", to: ["mooring/mooring-aggregator"] },
      { role: "mooring-agents: Role mooring-agent", to: ["mooring-agents/mooring-agent"] },
    ]);
  });
});
