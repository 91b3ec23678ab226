import type { V1Namespace } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { readAgentCommand } from "../../../agent/config.ts";
import { environmentOf, objectsIn, type Template, WORKLOADS } from "./objects.ts";

const JOURNAL_DIR = "/var/lib/mooring";

/** What must hold of either pod, whatever else changes. */
const RULES: readonly { readonly rule: string; readonly of: (template: Template) => unknown; readonly is: unknown }[] =
  [
    { rule: "must not be root", of: ({ pod }) => pod.securityContext?.runAsNonRoot, is: true },
    { rule: "is of no other group", of: ({ pod }) => pod.securityContext?.supplementalGroups, is: undefined },
    { rule: "has seccomp's default", of: ({ pod }) => pod.securityContext?.seccompProfile?.type, is: "RuntimeDefault" },
    { rule: "sets no sysctls", of: ({ pod }) => pod.securityContext?.sysctls, is: undefined },
    { rule: "does not use the host's network", of: ({ pod }) => pod.hostNetwork, is: undefined },
    { rule: "does not see the host's processes", of: ({ pod }) => pod.hostPID, is: undefined },
    { rule: "does not share the host's IPC", of: ({ pod }) => pod.hostIPC, is: undefined },
    { rule: "is on Linux", of: ({ pod }) => pod.nodeSelector?.["kubernetes.io/os"], is: "linux" },
    {
      rule: "cannot gain privileges",
      of: ({ container }) => container.securityContext?.allowPrivilegeEscalation,
      is: false,
    },
    { rule: "is not privileged", of: ({ container }) => container.securityContext?.privileged, is: undefined },
    {
      rule: "has no capability",
      of: ({ container }) => container.securityContext?.capabilities,
      is: { drop: ["ALL"] },
    },
    {
      rule: "cannot write to its own files",
      of: ({ container }) => container.securityContext?.readOnlyRootFilesystem,
      is: true,
    },
    {
      rule: "keeps the usual masks of /proc",
      of: ({ container }) => container.securityContext?.procMount,
      is: undefined,
    },
    { rule: "does not overrule its user", of: ({ container }) => container.securityContext?.runAsUser, is: undefined },
    {
      rule: "takes no port of the host",
      of: ({ container }) => container.ports?.filter((port) => port.hostPort !== undefined),
      is: [],
    },
    {
      rule: "has a limit of memory",
      of: ({ container }) => container.resources?.limits?.memory,
      is: expect.any(String),
    },
    { rule: "is not throttled", of: ({ container }) => container.resources?.limits?.cpu, is: undefined },
    {
      rule: "has a share of the processor",
      of: ({ container }) => container.resources?.requests?.cpu,
      is: expect.any(String),
    },
  ];

describe.each(WORKLOADS)("$name", (workload) => {
  it.each(RULES)("$rule", ({ of, is }) => {
    expect(of(workload)).toEqual(is);
  });
});

describe("the users and groups", () => {
  it("are each program's own, and ones that no image, distribution or cluster gives to others", () => {
    const ids = WORKLOADS.map(({ pod }) => [pod.securityContext?.runAsUser, pod.securityContext?.runAsGroup]);

    expect(ids).toEqual([
      [60_871, 60_871],
      [60_872, 60_872],
    ]);
  });
});

describe("what is mounted", () => {
  const [agent, aggregator] = WORKLOADS;

  it("is the mount table of the node for the agent, to read, and a directory of its own, beside a token and whom to trust", () => {
    expect(agent.pod.volumes?.filter(({ projected }) => projected === undefined)).toEqual([
      { name: "mountinfo", hostPath: { path: "/proc/1/mountinfo", type: "File" } },
      { name: "journal", hostPath: { path: JOURNAL_DIR, type: "DirectoryOrCreate" } },
    ]);
    expect(agent.container.volumeMounts).toEqual([
      { name: "mountinfo", mountPath: "/host/mountinfo", readOnly: true },
      { name: "journal", mountPath: JOURNAL_DIR },
      { name: "aggregator-access", mountPath: "/var/run/mooring", readOnly: true },
    ]);
    expect(agent.pod.volumes?.[0]?.projected?.sources?.map((source) => Object.keys(source))).toEqual([
      ["serviceAccountToken"],
    ]);
  });

  it("is nothing for the aggregator", () => {
    expect(aggregator.pod.volumes).toBeUndefined();
    expect(aggregator.container.volumeMounts).toBeUndefined();
  });
});

describe("what runs before", () => {
  const [agent, aggregator] = WORKLOADS;
  const [first, ...others] = agent.pod.initContainers ?? [];

  it("is nothing for the aggregator, and one container for the agent, of the same image", () => {
    expect(aggregator.pod.initContainers).toBeUndefined();
    expect(others).toEqual([]);
    expect(first?.image).toBe(agent.container.image);
  });

  it("may change owners, and nothing else that its agent may not", () => {
    expect(first?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["CHOWN"] },
    });
    expect(first?.resources?.limits?.memory).toEqual(expect.any(String));
  });

  it("sees the journal's directory alone, and makes that the agent's", () => {
    expect(first?.volumeMounts).toEqual([{ name: "journal", mountPath: JOURNAL_DIR }]);
    expect(readAgentCommand({ argv: first?.args?.slice(1) ?? [], env: environmentOf(first ?? {}) })).toEqual({
      kind: "prepare-journal",
      directory: JOURNAL_DIR,
    });
    expect(environmentOf(agent.container).MOORING_JOURNAL_DIR).toBe(JOURNAL_DIR);
  });
});

describe("the namespaces", () => {
  const levels = new Map(
    objectsIn<V1Namespace>("base/namespaces.yaml", "Namespace").map(({ metadata }) => [
      metadata?.name,
      metadata?.labels?.["pod-security.kubernetes.io/enforce"],
    ]),
  );

  it("admit what reads the node's mount table in that of the agents alone", () => {
    expect(Object.fromEntries(levels)).toEqual({ mooring: "restricted", "mooring-agents": "privileged" });
  });
});
