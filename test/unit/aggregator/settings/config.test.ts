import { describe, expect, it } from "vitest";
import { readAggregatorCommand } from "../../../../aggregator/settings/config.ts";

describe("readAggregatorCommand", () => {
  it("without flags everything has its default", () => {
    expect(readAggregatorCommand({ argv: [], env: {} })).toEqual({
      kind: "run",
      config: {
        kubeconfig: undefined,
        apiAddress: { host: "127.0.0.1", port: 9809 },
        metricsAddress: undefined,
        reports: undefined,
        agents: { namespace: "mooring-agents", account: "mooring-agent" },
        claimMetrics: false,
        volumeMetrics: false,
        nodeStaleAfterMs: 90_000,
        noAgentAfterMs: 600_000,
        nodeGoneAfterMs: 300_000,
        reasonDelayMs: 5_000,
        protection: "off",
        pauseRejectionsAt: 50,
        upstreamCondition: "auto",
        logLevel: "info",
      },
    });
  });

  it("flags override the environment", () => {
    const input = {
      argv: ["--node-stale-after", "30s"],
      env: { MOORING_NODE_STALE_AFTER: "10s", MOORING_REASON_DELAY: "0s" },
    };

    expect(readAggregatorCommand(input)).toMatchObject({ config: { nodeStaleAfterMs: 30_000, reasonDelayMs: 0 } });
  });

  it.each(["127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"])("listens on the loopback address %s", (listen) => {
    expect(readAggregatorCommand({ argv: ["--api-bind-address", listen], env: {} }).kind).toBe("run");
  });

  it("answers probes and scrapes elsewhere", () => {
    const command = readAggregatorCommand({ argv: ["--metrics-bind-address", ":9808"], env: {} });

    expect(command).toMatchObject({ config: { metricsAddress: { host: "", port: 9808 } } });
  });

  const REPORTS = ["--report-bind-address", ":8443", "--pod-namespace", "mooring"];
  const HOUR = 3_600_000;

  it("takes reports elsewhere from agents' pods, with certificates of its own", () => {
    expect(readAggregatorCommand({ argv: REPORTS, env: {} })).toMatchObject({
      config: {
        reports: {
          address: { host: "", port: 8443 },
          agents: { namespace: "mooring-agents", account: "mooring-agent" },
          certificate: {
            kind: "issued",
            namespace: "mooring",
            agentNamespace: "mooring-agents",
            names: ["mooring-aggregator.mooring.svc"],
            times: { authorityMs: 8_760 * HOUR, certificateMs: 720 * HOUR, overlapMs: HOUR },
          },
        },
      },
    });
  });

  it("takes another account and other names", () => {
    const argv = [...REPORTS, ...["--agent-account", "a/b", "--tls-names", "mooring.example, 10.0.0.1,fd00::1"]];

    expect(readAggregatorCommand({ argv, env: {} })).toMatchObject({
      config: {
        reports: {
          agents: { namespace: "a", account: "b" },
          certificate: {
            agentNamespace: "a",
            names: ["mooring.example", "10.0.0.1", "fd00::1"],
          },
        },
      },
    });
  });

  it("serves files that somebody else keeps, and issues nothing then", () => {
    const argv = [
      "--report-bind-address",
      ":8443",
      "--tls-cert-file",
      "/tls/tls.crt",
      "--tls-key-file",
      "/tls/tls.key",
    ];

    expect(readAggregatorCommand({ argv, env: {} })).toMatchObject({
      config: { reports: { certificate: { kind: "files", certificateFile: "/tls/tls.crt", keyFile: "/tls/tls.key" } } },
    });
  });

  it.each([
    {
      name: "an address that others can reach",
      argv: ["--api-bind-address", "0.0.0.0:9809"],
      problem: "0.0.0.0 is no loopback",
    },
    { name: "every address", argv: ["--api-bind-address", ":9809"], problem: "every address is no loopback" },
    {
      name: "a name that only looks like loopback",
      argv: ["--api-bind-address", "127.0.0.1.example:1"],
      problem: "no loopback",
    },
    { name: "a wait that is too short", argv: ["--node-stale-after", "1ms"], problem: "node-stale-after" },
    {
      name: "an election of nobody",
      argv: ["--leader-elect", "--pod-namespace", "mooring"],
      problem: "pod-name is missing",
    },
    { name: "an election nowhere", argv: ["--leader-elect", "--pod-name", "a"], problem: "pod-namespace is missing" },
    {
      name: "a lease of a part of a second",
      argv: ["--leader-elect", "--pod-name", "a", "--pod-namespace", "b", "--leader-elect-lease-duration", "3.5s"],
      problem: "whole seconds",
    },
    {
      name: "a lease that is too short",
      argv: ["--leader-elect-lease-duration", "1s"],
      problem: "leader-elect-lease-duration",
    },
    { name: "an account without a namespace", argv: ["--agent-account", "a"], problem: "must be namespace/name" },
    { name: "an account that no object can have", argv: ["--agent-account", "a/B"], problem: "must be namespace/name" },
    { name: "a certificate without its key", argv: ["--tls-cert-file", "/a"], problem: "belong together" },
    { name: "a key without its certificate", argv: ["--tls-key-file", "/a"], problem: "belong together" },
    { name: "own certificates nowhere", argv: ["--report-bind-address", ":1"], problem: "--pod-namespace is missing" },
    { name: "a name that is none", argv: [...REPORTS, "--tls-names", "a,*"], problem: '"*" is no name' },
    { name: "an empty name", argv: [...REPORTS, "--tls-names", "a,,b"], problem: '"" is no name' },
    { name: "a flag that is gone", argv: ["--allow-insecure-reports"], problem: "unknown flag" },
    { name: "an unknown word", argv: ["--upstream-condition", "sometimes"], problem: "upstream-condition" },
    { name: "an unknown level", argv: ["--log-level", "loud"], problem: "log-level" },
    { name: "an unknown flag", argv: ["--colour"], problem: "colour" },
  ])("refuses $name", ({ argv, problem }) => {
    expect(() => readAggregatorCommand({ argv, env: {} })).toThrow(problem);
  });

  it.each([
    { name: "15, 10 and 2 s", argv: [], timing: { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 } },
    {
      name: "the same proportions of another duration",
      argv: ["--leader-elect-lease-duration", "30s"],
      timing: { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 4_000 },
    },
  ])("takes part in an election as the pod that it is, with $name", ({ argv, timing }) => {
    const env = { MOORING_LEADER_ELECT: "true", MOORING_POD_NAME: "a", MOORING_POD_NAMESPACE: "b" };

    const command = readAggregatorCommand({ argv, env });

    expect(command).toMatchObject({ config: { election: { pod: "a", namespace: "b", timing } } });
  });

  it("knows its pod without taking part in an election", () => {
    const env = { MOORING_POD_NAME: "a", MOORING_POD_NAMESPACE: "b" };

    expect(readAggregatorCommand({ argv: [], env })).toMatchObject({ config: { election: undefined } });
  });

  it("tells of all problems at once", () => {
    const input = { argv: ["--node-stale-after", "1ms", "--log-level", "loud"], env: {} };

    expect(() => readAggregatorCommand(input)).toThrow(/node-stale-after[\s\S]*log-level/);
  });

  it("helps instead of running", () => {
    expect(readAggregatorCommand({ argv: ["--help"], env: {} })).toMatchObject({
      kind: "help",
      text: expect.stringContaining("--node-stale-after"),
    });
  });
});
