import type {
  V1Container as Container,
  V1Deployment,
  V1PodDisruptionBudget,
  V1Probe,
  V1Service,
} from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { AGENT_SETTINGS, readAgentCommand } from "../../../agent/config.ts";
import { AGGREGATOR_SETTINGS, readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import { LEADER_ROLE, ROLE_LABEL } from "../../../aggregator/sinks/leader-label.ts";
import { projectPod } from "../../../aggregator/sources/projections.ts";
import { variableOf } from "../../../common/runtime/settings.ts";
import { agent as daemonSet, aggregator as deployment, environmentOf, objectIn, textOf, WORKLOADS } from "./objects.ts";

const [agent, aggregator] = WORKLOADS;
const service = objectIn<V1Service>("base/aggregator.yaml", "Service");
const budget = objectIn<V1PodDisruptionBudget>("base/aggregator.yaml", "PodDisruptionBudget");

describe("what the programs are told", () => {
  it.each([
    { ...agent, settings: Object.values(AGENT_SETTINGS) },
    { ...aggregator, settings: Object.values(AGGREGATOR_SETTINGS) },
  ])("are settings that $name has", ({ container, settings }) => {
    const known = settings.map(({ name }) => variableOf(name));

    expect(Object.keys(environmentOf(container)).filter((name) => !known.includes(name))).toEqual([]);
  });

  it.each(WORKLOADS)("is said once to $name", ({ container }) => {
    const names = (container.env ?? []).map(({ name }) => name);

    expect(names).toEqual([...new Set(names)]);
  });

  it("is complete for an agent", () => {
    expect(readAgentCommand({ argv: [], env: environmentOf(agent.container) })).toMatchObject({
      kind: "run",
      config: {
        node: "value-of-spec.nodeName",
        podUid: "value-of-metadata.uid",
        mountInfo: "/host/mountinfo",
        bootId: "/proc/sys/kernel/random/boot_id",
        podNamespace: "value-of-metadata.namespace",
        kubeconfig: undefined,
      },
    });
  });

  it("is complete for an aggregator", () => {
    expect(readAggregatorCommand({ argv: [], env: environmentOf(aggregator.container) })).toMatchObject({
      kind: "run",
      config: {
        election: { pod: "value-of-metadata.name", namespace: "value-of-metadata.namespace" },
        metricsAddress: { host: "", port: 9808 },
        reports: { address: { host: "", port: 8443 }, certificate: { kind: "own", replica: "value-of-metadata.name" } },
      },
    });
  });

  it.each(["base/agent.yaml", "base/aggregator.yaml", "overlays/test/agent.yaml", "overlays/test/aggregator.yaml"])(
    "lets nobody report insecurely, not even for tests: %s",
    (file) => {
      expect(textOf(file)).not.toMatch(/insecure|http:/i);
    },
  );
});

describe("what has to fit together", () => {
  const portOf = (container: Container, name: string): number | undefined =>
    container.ports?.find((port) => port.name === name)?.containerPort;
  const reports = service.spec?.ports?.find(({ name }) => name === "reports");

  it.each([
    {
      name: "the agent's health",
      container: agent.container,
      port: "health",
      variable: "MOORING_METRICS_BIND_ADDRESS",
    },
    {
      name: "the aggregator's health",
      container: aggregator.container,
      port: "health",
      variable: "MOORING_METRICS_BIND_ADDRESS",
    },
    {
      name: "the aggregator's reports",
      container: aggregator.container,
      port: "reports",
      variable: "MOORING_REPORT_BIND_ADDRESS",
    },
  ])("$name is at the port that it listens at", ({ container, port, variable }) => {
    expect(environmentOf(container)[variable]).toBe(`:${portOf(container, port)}`);
  });

  it("lists are answered on loopback alone, where the Service's port leads when it is forwarded", () => {
    const lists = service.spec?.ports?.find(({ name }) => name === "lists");

    expect(readAggregatorCommand({ argv: [], env: environmentOf(aggregator.container) })).toMatchObject({
      config: { apiAddress: { host: "127.0.0.1", port: lists?.targetPort } },
    });
  });

  it("an agent finds its token, for the aggregator alone", () => {
    const volume = agent.pod.volumes?.find(({ projected }) => projected !== undefined);
    const [token, ...others] = volume?.projected?.sources ?? [];
    const place = agent.container.volumeMounts?.find(({ name }) => name === volume?.name)?.mountPath;
    const env = environmentOf(agent.container);

    expect(token?.serviceAccountToken).toMatchObject({ audience: "mooring-aggregator", expirationSeconds: 600 });
    expect(env.MOORING_AGGREGATOR_TOKEN_FILE).toBe(`${place}/${token?.serviceAccountToken?.path}`);
    expect([others, env.MOORING_AGGREGATOR_CA_FILE]).toEqual([[], undefined]);
  });

  it("an aggregator finds the certificate that somebody else gives it, and makes none", () => {
    const given = objectIn<V1Deployment>("components/given-certificates/aggregator.yaml", "Deployment");
    const [volume] = given.spec?.template.spec?.volumes ?? [];
    const [container] = given.spec?.template.spec?.containers ?? [];
    const [mount] = container?.volumeMounts ?? [];
    const [certificate, key] = volume?.secret?.items?.map(({ path }) => `${mount?.mountPath}/${path}`) ?? [];

    const env = { ...environmentOf(aggregator.container), ...environmentOf(container ?? {}) };
    expect(mount?.name).toBe(volume?.name);
    expect(readAggregatorCommand({ argv: [], env })).toMatchObject({
      config: { reports: { certificate: { kind: "files", certificateFile: certificate, keyFile: key } } },
    });
  });

  it("the aggregator takes the tokens of the account that agents have", () => {
    const config = readAggregatorCommand({ argv: [], env: environmentOf(aggregator.container) });

    expect(config).toMatchObject({
      config: {
        agents: { namespace: daemonSet.metadata?.namespace, account: agent.pod.serviceAccountName },
      },
    });
  });

  it("agents report to the Service", () => {
    const { name, namespace } = service.metadata ?? {};

    expect(environmentOf(agent.container).MOORING_AGGREGATOR_URL).toBe(
      `https://${name}.${namespace}.svc:${reports?.port}`,
    );
  });

  it("the Service leads to the leader, ready or not: it gets ready by the reports", () => {
    expect(service.spec?.selector).toEqual({ ...deployment.spec?.selector.matchLabels, [ROLE_LABEL]: LEADER_ROLE });
    expect(service.spec?.publishNotReadyAddresses).toBe(true);
  });

  it("the label of the leader is not in the template, which would give it to all", () => {
    expect(Object.keys(aggregator.labels)).not.toContain(ROLE_LABEL);
  });

  it("the aggregator knows an agent's pod", () => {
    const namespace = daemonSet.metadata?.namespace;
    const command = readAggregatorCommand({ argv: [], env: environmentOf(aggregator.container) });
    const agents = command.kind === "run" ? command.config.agents : { namespace: "", account: "" };
    const metadata = { namespace, name: "any", uid: "1", resourceVersion: "1", labels: agent.labels };

    expect(projectPod({ metadata, spec: agent.pod }, agents).isAgent).toBe(true);
  });

  it.each([
    { name: "DaemonSet", selector: daemonSet.spec?.selector.matchLabels, labels: agent.labels },
    { name: "Deployment", selector: deployment.spec?.selector.matchLabels, labels: aggregator.labels },
    { name: "PodDisruptionBudget", selector: budget.spec?.selector?.matchLabels, labels: aggregator.labels },
  ])("the $name selects its pods", ({ selector, labels }) => {
    expect(selector).not.toEqual({});
    expect(labels).toMatchObject(selector ?? {});
  });
});

describe("how it is rolled out", () => {
  it("a node has its agent whatever its taints, and keeps it when memory is short", () => {
    expect(agent.pod.tolerations).toEqual([{ operator: "Exists" }]);
    expect(agent.pod.priorityClassName).toBe("system-node-critical");
  });

  it("a tenth of the agents is replaced at a time", () => {
    expect(daemonSet.spec?.updateStrategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: "10%" },
    });
  });

  it("an aggregator goes when its successor is ready", () => {
    expect(deployment.spec?.replicas).toBe(2);
    expect(deployment.spec?.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(aggregator.pod.priorityClassName).toBe("system-cluster-critical");
  });

  it("the aggregators of one revision are on different nodes where there are two, whether or not nodes have zones", () => {
    expect(aggregator.pod.topologySpreadConstraints).toMatchObject([
      {
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        matchLabelKeys: ["pod-template-hash"],
        labelSelector: deployment.spec?.selector,
      },
    ]);
    expect(aggregator.pod.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toMatchObject([
      { podAffinityTerm: { topologyKey: "topology.kubernetes.io/zone", labelSelector: deployment.spec?.selector } },
    ]);
  });

  it("one of two aggregators may be evicted, and any that is not ready", () => {
    expect(budget.spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow" });
  });

  it.each(WORKLOADS)(
    "$name is killed only for not answering at all, and not within the first minute",
    ({ container }) => {
      const { startupProbe: startup, livenessProbe: liveness, readinessProbe: readiness } = container;

      expect([startup, liveness, readiness].map((probe) => probe?.httpGet?.path)).toEqual([
        "/livez",
        "/livez",
        "/readyz",
      ]);
      expect(toleratedSeconds(startup)).toBeGreaterThanOrEqual(60);
      expect(toleratedSeconds(liveness)).toBeGreaterThanOrEqual(60);
      expect(toleratedSeconds(readiness)).toBeLessThanOrEqual(15);
    },
  );
});

function toleratedSeconds({ periodSeconds = 10, failureThreshold = 3 }: V1Probe = {}): number {
  return periodSeconds * failureThreshold;
}
