import { describe, expect, it } from "vitest";
import { readAggregatorCommand } from "../../../../aggregator/settings/config.ts";

type Env = Readonly<Record<string, string>>;
const read = (flags = "", env: Env = {}) =>
  readAggregatorCommand({ argv: flags.split(" ").filter((flag) => flag !== ""), env });

const REPORTS = "--report-bind-address :8443 --pod-namespace mooring";
const POD: Env = { MOORING_POD_NAME: "a", MOORING_POD_NAMESPACE: "b" };
const LEADER: Env = { ...POD, MOORING_LEADER_ELECT: "true" };
const AGENTS = { namespace: "mooring-agents", account: "mooring-agent" };
const NAME = "mooring-aggregator.mooring.svc";

describe("the aggregator's command line", () => {
  it("has a default for everything", () => {
    expect(read()).toMatchObject({
      kind: "run",
      config: {
        ...{ kubeconfig: undefined, metricsAddress: undefined, reports: undefined, agents: AGENTS },
        ...{ apiAddress: { host: "127.0.0.1", port: 9809 }, claimMetrics: false, volumeMetrics: false },
        ...{ nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000, nodeGoneAfterMs: 300_000 },
        ...{ protection: "off", pauseRejectionsAt: 50, logLevel: "info" },
        election: undefined,
      },
    });
  });

  const OTHERS = `${REPORTS} --agent-account a/b --tls-names mooring.example,10.0.0.1,fd00::1`;
  const FILES = "--report-bind-address :1 --tls-cert-file /a.crt --tls-key-file /a.key";
  const SLOW = "--leader-elect-lease-duration 30s";
  const made = { kind: "own", replica: "mooring-aggregator", agentNamespace: AGENTS.namespace, names: [NAME] };
  const files = { kind: "files", certificateFile: "/a.crt", keyFile: "/a.key" };
  const own = { address: { host: "", port: 8443 }, certificate: made };
  const agents = { namespace: "a", account: "b" };
  const renamed = { agentNamespace: "a", names: ["mooring.example", "10.0.0.1", "fd00::1"] };
  const timing = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
  const slower = { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 4_000 };

  it.each<readonly [name: string, flags: string, env: Env, config: object]>([
    ["has metrics elsewhere", "--metrics-bind-address :9808", {}, { metricsAddress: { host: "", port: 9808 } }],
    ["takes reports elsewhere, from agents alone, with a certificate of its own", REPORTS, {}, { reports: own }],
    ["publishes that as the pod that it is", REPORTS, POD, { reports: { certificate: { replica: "a" } } }],
    ["takes another account and other names", OTHERS, {}, { agents, reports: { certificate: renamed } }],
    ["serves files that another program keeps, and makes nothing then", FILES, {}, { reports: { certificate: files } }],
    ["takes part in an election as the pod that it is", "", LEADER, { election: { pod: "a", namespace: "b", timing } }],
    ["keeps the proportions of another duration", SLOW, LEADER, { election: { timing: slower } }],
    ["knows its pod without taking part in an election", "", POD, { election: undefined }],
  ])("%s", (...[, flags, env, config]) => {
    expect(read(flags, env)).toMatchObject({ config });
  });

  it("takes names with spaces between them", () => {
    const argv = [...REPORTS.split(" "), "--tls-names", "a, b"];

    expect(readAggregatorCommand({ argv, env: {} })).toMatchObject({
      config: { reports: { certificate: { names: ["a", "b"] } } },
    });
  });

  it.each(["127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"])("takes the loopback address %s", (address) => {
    expect(read(`--api-bind-address ${address}`).kind).toBe("run");
  });

  const ELECT = "--leader-elect --pod-name a";
  it.each<readonly [name: string, flags: string, problem: string]>([
    ["an address that others can reach", "--api-bind-address 0.0.0.0:9809", "0.0.0.0 is no loopback"],
    [
      "every address",
      "--api-bind-address :9809",
      "every address is no loopback address; probes and metrics have --metrics-bind-address",
    ],
    ["a name that only resembles loopback", "--api-bind-address 127.0.0.1.example:1", "no loopback"],
    ["a wait that is too short", "--node-stale-after 1ms", "node-stale-after"],
    ["an election without a pod name", "--leader-elect --pod-namespace mooring", "pod-name is missing"],
    ["an election nowhere", ELECT, "pod-namespace is missing"],
    ["part of a second", `${ELECT} --pod-namespace b --leader-elect-lease-duration 3.5s`, "whole seconds"],
    ["a lease that is too short", "--leader-elect-lease-duration 1s", "leader-elect-lease-duration"],
    ["an account without a namespace", "--agent-account a", "must be namespace/name"],
    ["an account that no object can have", "--agent-account a/B", "must be namespace/name"],
    ["a certificate without its key", "--tls-cert-file /a", "belong together"],
    ["a key without its certificate", "--tls-key-file /a", "belong together"],
    ["an own certificate without a name", "--report-bind-address :1", "--pod-namespace is missing"],
    ["a name that is none", `${REPORTS} --tls-names a,*`, '"*" is no name'],
    ["what resembles an address", `${REPORTS} --tls-names a:b`, '"a:b" is no name'],
    ["an address with a zone", `${REPORTS} --tls-names fe80::1%eth0`, '"fe80::1%eth0" is no name'],
    ["an empty name", `${REPORTS} --tls-names a,,b`, '"" is no name'],
  ])("refuses %s", (_, flags, problem) => {
    expect(() => read(flags)).toThrow(problem);
  });

  it("helps instead of running", () => {
    expect(read("--help")).toMatchObject({ kind: "help", text: expect.stringContaining("--node-stale-after") });
  });
});
