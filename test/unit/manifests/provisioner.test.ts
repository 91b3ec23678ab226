import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Container,
  V1CSIDriver,
  V1DaemonSet,
  V1Namespace,
  V1Role,
  V1RoleBinding,
} from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { variableOf } from "../../../common/runtime/settings.ts";
import { PROVISIONERS } from "../../../common/storage/local-volumes.ts";
import { PROVISIONER_SETTINGS, readProvisionerCommand } from "../../../provisioner/config.ts";
import { KEEPER_SETTINGS, readKeeperCommand } from "../../../provisioner/keeper/config.ts";
import { LINK_FOLDER } from "../../../provisioner/protocol.ts";
import { environmentOf, objectIn, objectsIn } from "./objects.ts";
import { rightsOf } from "./rights.ts";

const COMPONENT = "components/provisioner";
const daemonSet = objectIn<V1DaemonSet>(`${COMPONENT}/provisioner.yaml`, "DaemonSet");
const template = daemonSet.spec?.template;
const pod = template?.spec ?? expect.fail("no pod");

function containerOf(name: string): V1Container {
  return pod.containers.find((one) => one.name === name) ?? expect.fail(`no container ${name}`);
}

const [provisioner, keeper] = [containerOf("provisioner"), containerOf("keeper")];
const CONTAINERS = [
  { name: "provisioner", container: provisioner, settings: Object.values(PROVISIONER_SETTINGS) },
  { name: "keeper", container: keeper, settings: Object.values(KEEPER_SETTINGS) },
];

/** What a container sees of the pod's volumes: the name of each, and where. */
function mountsOf({ volumeMounts = [] }: V1Container): Readonly<Record<string, string>> {
  return Object.fromEntries(volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
}

describe("the provisioner's pod", () => {
  it("has two containers, and none that runs before", () => {
    expect(pod.containers.map(({ name }) => name)).toEqual(["provisioner", "keeper"]);
    expect(pod.initContainers).toBeUndefined();
  });

  it("gives the token to the container without root alone, and the node to the one without a token", () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(Object.keys(mountsOf(provisioner))).toEqual(["keeper", "api-access"]);
    expect(Object.keys(mountsOf(keeper))).not.toContain("api-access");
    expect(pod.volumes?.flatMap(({ name, hostPath }) => (hostPath === undefined ? [] : [name, hostPath.path]))).toEqual(
      [
        ...["pools", "/var/lib/mooring-pools", "links", "/run/mooring"],
        ...["devices", "/dev", "mountinfo", "/proc/1/mountinfo"],
      ],
    );
  });

  it("does not share the node's network, processes or IPC", () => {
    expect([pod.hostNetwork, pod.hostPID, pod.hostIPC]).toEqual([undefined, undefined, undefined]);
    expect(pod.containers.flatMap(({ ports = [] }) => ports.map(({ hostPort }) => hostPort))).toEqual([undefined]);
    expect(pod.securityContext?.seccompProfile?.type).toBe("RuntimeDefault");
  });

  it("confines the container that has the token, under a user of its own", () => {
    expect(provisioner.securityContext).toEqual({
      ...{ runAsNonRoot: true, runAsUser: 60_873, runAsGroup: 60_873 },
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    });
    expect([60_871, 60_872]).not.toContain(provisioner.securityContext?.runAsUser);
  });

  it("lets the provisioner's group connect to the keeper, which is root and cannot write to its own files", () => {
    expect(keeper.securityContext).toEqual({
      ...{ runAsUser: 0, runAsGroup: provisioner.securityContext?.runAsGroup },
      ...{ privileged: true, readOnlyRootFilesystem: true },
    });
  });

  it.each(CONTAINERS)("limits the memory of the $name, and does not throttle it", ({ container }) => {
    expect(container.resources).toEqual({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
  });

  it("is in a namespace of its own, of the level that the keeper needs", () => {
    const { metadata } = objectIn<V1Namespace>(`${COMPONENT}/namespace.yaml`, "Namespace");

    expect(metadata?.name).toBe(daemonSet.metadata?.namespace);
    expect(metadata?.labels?.["pod-security.kubernetes.io/enforce"]).toBe("privileged");
  });
});

describe("what the provisioner's programs are told", () => {
  it.each(CONTAINERS)("are settings that the $name has, once each", ({ container, settings }) => {
    const known = [...settings.map(({ name }) => variableOf(name)), "UV_THREADPOOL_SIZE"];
    const names = (container.env ?? []).map(({ name }) => name);

    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
  });

  it("is complete, and they meet at one socket", () => {
    const env = { ...environmentOf(provisioner), MOORING_NODE: "n1" };
    const told = readProvisionerCommand({ argv: [], env });
    const asked = readKeeperCommand({ argv: [], env: environmentOf(keeper) });

    const socket = "/run/keeper/keeper.sock";
    expect(environmentOf(provisioner).MOORING_NODE).toBe("value-of-spec.nodeName");
    expect(told).toMatchObject({
      config: { node: "n1", socket, kubeconfig: undefined, metricsAddress: { host: "", port: 9808 } },
    });
    expect(asked).toMatchObject({
      config: { socket, podUid: "value-of-metadata.uid", metricsAddress: { host: "127.0.0.1" } },
    });
    expect(mountsOf(provisioner).keeper).toBe(mountsOf(keeper).keeper);
    expect(socket.startsWith(`${mountsOf(keeper).keeper}/`)).toBe(true);
  });

  it("are paths that are the same on the node", () => {
    const command = readKeeperCommand({ argv: [], env: environmentOf(keeper) });
    const { mountInfo, pools } = command.kind === "run" ? command.config : expect.fail("it does not run");
    const paths = new Map(pod.volumes?.map(({ name, hostPath }) => [name, hostPath?.path]));
    const at = mountsOf(keeper);

    expect(at.pools).toBe(paths.get("pools"));
    expect(pools.every(({ path }) => path.startsWith(`${at.pools}/`))).toBe(true);
    expect(at.links).toBe(paths.get("links"));
    expect(LINK_FOLDER.startsWith(`${at.links}/`)).toBe(true);
    expect(at.mountinfo).toBe(mountInfo);
  });

  it("is for the scheduler the name that has no slash", () => {
    const driver = objectIn<V1CSIDriver>(`${COMPONENT}/driver.yaml`, "CSIDriver");

    expect(PROVISIONERS).toContain(driver.metadata?.name);
    expect(driver.spec).toEqual({ attachRequired: false, storageCapacity: true });
  });
});

describe("how the provisioner is rolled out", () => {
  it("a node has it whatever its taints, and keeps it when memory is short", () => {
    expect(pod.tolerations).toEqual([{ operator: "Exists" }]);
    expect(pod.priorityClassName).toBe("system-node-critical");
    expect(pod.nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
    expect(daemonSet.spec?.updateStrategy).toEqual({ type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } });
    expect(template?.metadata?.labels).toMatchObject(daemonSet.spec?.selector.matchLabels ?? {});
  });

  it("is killed only for not answering at all, and not within the first minute", () => {
    const { startupProbe, livenessProbe, readinessProbe } = provisioner;
    const seconds = [startupProbe, livenessProbe, readinessProbe].map(
      (probe) => (probe?.periodSeconds ?? 10) * (probe?.failureThreshold ?? 3),
    );

    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path)).toEqual([
      ...["/livez", "/livez", "/readyz"],
    ]);
    expect(seconds).toEqual([60, 60, 10]);
  });
});

describe("the rights of the provisioner", () => {
  const file = `${COMPONENT}/rbac.yaml`;

  it("are to follow claims, volumes, classes and its node, and to write volumes, claims' sizes, room and events", () => {
    const roles = [...objectsIn<V1ClusterRole>(file, "ClusterRole"), ...objectsIn<V1Role>(file, "Role")];
    const followed = ["persistentvolumeclaims", "persistentvolumes", "nodes", "storage.k8s.io/storageclasses"];
    const room = ["get", "list", "watch", "create", "patch", "delete"];

    expect(roles.flatMap(rightsOf).toSorted()).toEqual(
      [
        ...followed.flatMap((resource) => ["get", "list", "watch"].map((verb) => `everywhere: ${verb} ${resource}`)),
        ...["create", "patch", "delete"].map((verb) => `everywhere: ${verb} persistentvolumes`),
        ...["persistentvolumeclaims", "persistentvolumeclaims/status"].map((one) => `everywhere: patch ${one}`),
        ...["create", "patch"].map((verb) => `everywhere: ${verb} events.k8s.io/events`),
        ...room.map((verb) => `mooring-provisioner: ${verb} storage.k8s.io/csistoragecapacities`),
      ].toSorted(),
    );
  });

  it("are given to its own account, and to nobody else", () => {
    const bindings = [
      ...objectsIn<V1ClusterRoleBinding>(file, "ClusterRoleBinding"),
      ...objectsIn<V1RoleBinding>(file, "RoleBinding"),
    ];

    expect(bindings.flatMap(({ subjects = [] }) => subjects.map(({ namespace, name }) => [namespace, name]))).toEqual([
      ["mooring-provisioner", pod.serviceAccountName],
      ["mooring-provisioner", pod.serviceAccountName],
    ]);
  });
});
