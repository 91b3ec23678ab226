import type { V1PodDisruptionBudget, V1Probe, V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { AGENT_SETTINGS, readAgentCommand } from "../../../agent/config.ts";
import { AGGREGATOR_SETTINGS, readAggregatorCommand } from "../../../aggregator/config.ts";
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
        mountInfo: "/host/proc/1/mountinfo",
        bootId: "/host/proc/sys/kernel/random/boot_id",
        kubeconfig: undefined,
      },
    });
  });

  it("lacks one word for an aggregator, which the base must not say: that anybody may report", () => {
    const env = environmentOf(aggregator.container);

    expect(() => readAggregatorCommand({ argv: [], env })).toThrow("reports are not authenticated yet");
    expect(readAggregatorCommand({ argv: ["--allow-insecure-reports"], env })).toMatchObject({
      config: { election: { pod: "value-of-metadata.name", namespace: "value-of-metadata.namespace" } },
    });
  });

  it.each(["agent.yaml", "aggregator.yaml"])("allows insecure reports in the test overlay alone: %s", (file) => {
    expect(textOf(`base/${file}`)).not.toMatch(/insecure/i);
    expect(textOf(`overlays/test/${file}`)).toContain('MOORING_ALLOW_INSECURE_REPORTS\n              value: "true"');
  });
});

describe("what has to fit together", () => {
  const health = daemonSet.spec?.template.spec?.containers[0]?.ports?.[0];

  it.each([
    { name: "the agent's port", port: health?.containerPort, container: agent.container },
    { name: "the aggregator's port", port: service.spec?.ports?.[0]?.port, container: aggregator.container },
  ])("$name is the one that it listens at", ({ port, container }) => {
    expect(environmentOf(container).MOORING_LISTEN).toBe(`:${port}`);
    expect(container.ports?.map(({ containerPort }) => containerPort)).toEqual([port]);
  });

  it("agents report to the Service", () => {
    const { name, namespace } = service.metadata ?? {};

    expect(environmentOf(agent.container).MOORING_AGGREGATOR_URL).toBe(
      `https://${name}.${namespace}.svc:${service.spec?.ports?.[0]?.port}`,
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
    const metadata = { namespace: "any", name: "any", uid: "1", resourceVersion: "1", labels: agent.labels };

    expect(projectPod({ metadata, spec: {} }).isAgent).toBe(true);
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
