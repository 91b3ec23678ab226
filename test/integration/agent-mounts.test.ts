import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type MountScan, type RootRule, scanMountedVolumes } from "../../agent/core/mounted-volumes.ts";
import { createMountNotifier, type MountNotifier } from "../../agent/sources/mount-notifier.ts";
import { createMountInfoFile } from "../../common/mounts/mount-info-file.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { listen, type Route } from "../../common/runtime/http-server.ts";
import { decodeNodeMessage, isReport, type NodeReport } from "../../common/storage/node-report.ts";
import { volumeKey } from "../../common/storage/volume-identity.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { countStarvation, startStopwatch } from "../rig/process/starvation.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type MountNamespace, openMountNamespace } from "./mount-namespace.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const POLLING = fileURLToPath(new URL("polling-program.ts", import.meta.url));
const TOKEN = "pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-x7k2p";
const CSI = "pods/u1/volumes/kubernetes.io~csi/pv-1/mount";
const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };

const clock = createSystemClock();
const waiter = { clock, signal: new AbortController().signal };

async function look({ mountInfo }: MountNamespace): Promise<MountScan> {
  return scanMountedVolumes(await createMountInfoFile(mountInfo, { clock }).read(), RULE);
}

function summary({ mountedVolumes }: MountScan): readonly string[] {
  return mountedVolumes.map(({ kind, volume, podUid }) => `${kind} ${volumeKey(volume)} ${podUid ?? "-"}`);
}

describe("the mount table of a mount namespace", () => {
  it("proves nothing before the agent's own token is mounted, and is complete with it", async () => {
    const namespace = await openMountNamespace();

    const before = await look(namespace);
    await namespace.mount(TOKEN);
    const after = await look(namespace);

    expect(before.incomplete).toBe("own pod's token mount is not in the table");
    expect(after).toMatchObject({ incomplete: undefined, kubeletRoot: namespace.kubeletRoot });
  });

  it("shows a volume as long as it is mounted", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);

    await namespace.mount(CSI);
    expect(summary(await look(namespace))).toEqual(["pod name/pv-1 u1"]);
    await namespace.unmount(CSI);

    expect(summary(await look(namespace))).toEqual([]);
  });

  it("shows a volume that is mounted twice on one place until both mounts are gone", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    await namespace.mount(CSI);
    await namespace.mount(CSI);

    await namespace.unmount(CSI);
    expect(summary(await look(namespace))).toEqual(["pod name/pv-1 u1"]);
    await namespace.unmount(CSI);

    expect(summary(await look(namespace))).toEqual([]);
  });

  it("shows bind mounts of folders, of pieces of a volume and of a device", async () => {
    const namespace = await openMountNamespace();
    const { kubeletRoot, run, mount } = namespace;
    const [local, subPath] = ["pods/u1/volumes/kubernetes.io~local-volume/pv-2", "pods/u1/volume-subpaths/pv-2/main/0"];
    const device = "plugins/kubernetes.io~local-volume/volumeDevices/pv-3";
    await mount(TOKEN);
    await run(
      `mkdir -p '${kubeletRoot}/source à côté/piece' '${kubeletRoot}/${local}' '${kubeletRoot}/${subPath}' '${kubeletRoot}/${device}'`,
    );

    await run(`mount --bind '${kubeletRoot}/source à côté' '${kubeletRoot}/${local}'`);
    await run(`mount --bind '${kubeletRoot}/${local}/piece' '${kubeletRoot}/${subPath}'`);
    await run(`: >'${kubeletRoot}/${device}/u1' && mount --bind /dev/null '${kubeletRoot}/${device}/u1'`);
    const scan = await look(namespace);

    expect(scan.incomplete).toBeUndefined();
    expect(summary(scan)).toEqual(["pod name/pv-2 u1", "subpath name/pv-2 u1", "block name/pv-3 u1"]);
  });

  it("still shows a bind mount whose source was deleted", async () => {
    const namespace = await openMountNamespace();
    const { kubeletRoot, run, mount } = namespace;
    const local = "pods/u1/volumes/kubernetes.io~local-volume/pv-2";
    await mount(TOKEN);
    await run(`mkdir -p '${kubeletRoot}/source' '${kubeletRoot}/${local}'`);
    await run(`mount --bind '${kubeletRoot}/source' '${kubeletRoot}/${local}' && rmdir '${kubeletRoot}/source'`);

    const scan = await look(namespace);

    expect(scan).toMatchObject({
      incomplete: undefined,
      mountedVolumes: [{ mount: { root: expect.stringMatching(/\/\/deleted$/) } }],
    });
  });
});

function pollOf({ mountInfo }: MountNamespace): MountNotifier {
  const logger = createFakeLogger();
  const mountNotifier = createMountNotifier(mountInfo, { clock, logger });
  onTestFinished(() => mountNotifier.close());
  expect(mountNotifier.mode).toBe("poll");
  return mountNotifier;
}

describe("the mount notifier", () => {
  const never = new AbortController().signal;

  it("wakes within a second of a mount and of an unmount", async () => {
    const namespace = await openMountNamespace();
    const mountNotifier = pollOf(namespace);

    for (const change of [namespace.mount, namespace.unmount]) {
      const woken = mountNotifier.wait(20_000, never);
      const spentMs = startStopwatch({ clock });
      await change(CSI);

      expect(await woken).toBe("mounts");
      expect(spentMs()).toBeLessThan(1_000);
    }
  });

  it("ends the next wait after a change between two waits, once", async () => {
    const namespace = await openMountNamespace();
    const mountNotifier = pollOf(namespace);
    await namespace.mount(TOKEN);
    await namespace.mount(CSI);

    expect(await mountNotifier.wait(20_000, never)).toBe("mounts");
    expect(await mountNotifier.wait(30, never)).toBe("timer");
  });

  it("ends a wait for a scan request before a change that came together with it, and for each once", async () => {
    const namespace = await openMountNamespace();
    const mountNotifier = pollOf(namespace);
    await namespace.mount(CSI);
    mountNotifier.request();

    expect(await mountNotifier.wait(20_000, never)).toBe("asked");
    expect(await mountNotifier.wait(30, never)).toBe("timer");
  });

  it("gives a question away without a wait, once", async () => {
    const mountNotifier = pollOf(await openMountNamespace());
    mountNotifier.request();
    mountNotifier.request();

    expect([mountNotifier.takeRequest(), mountNotifier.takeRequest()]).toEqual([true, false]);
    expect(await mountNotifier.wait(30, never)).toBe("timer");
  });

  it("ends at once when it is asked or stopped, before or during a wait", async () => {
    const mountNotifier = pollOf(await openMountNamespace());
    const stop = new AbortController();
    const spentMs = startStopwatch({ clock });

    const asked = mountNotifier.wait(20_000, stop.signal);
    mountNotifier.request();
    expect(await asked).toBe("asked");
    const stopped = mountNotifier.wait(20_000, stop.signal);
    stop.abort();
    await stopped;
    await mountNotifier.wait(20_000, stop.signal);

    expect(spentMs()).toBeLessThan(900);
  });

  it("does nothing when it is asked after it was closed", async () => {
    const mountNotifier = createMountNotifier((await openMountNamespace()).mountInfo, {
      clock,
      logger: createFakeLogger(),
    });

    mountNotifier.close();
    mountNotifier.close();

    expect(mountNotifier.request()).toBeUndefined();
  });
});

interface Started {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

function start(file: string, args: readonly string[]): Started {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: ROOT,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  return { process: child, output: () => output, ended };
}

async function said({ output, process: child }: Started, pattern: RegExp): Promise<void> {
  await waitUntil(waiter, {
    what: "the program",
    limitMs: 20_000,
    check: async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output()}`);
      expect(output()).toMatch(pattern);
    },
  });
}

/** Milliseconds until the program has ended. */
async function timeToEnd(started: Started, act: () => void = () => {}): Promise<number> {
  const spentMs = startStopwatch({ clock });
  act();
  await started.ended;
  return spentMs();
}

interface AgentOptions {
  readonly aggregatorUrl: string;
  /** An API server that is none by default. */
  readonly apiUrl?: string;
  readonly journalDir?: string;
}

/** An agent of the namespace. */
function startAgent(namespace: MountNamespace, options: AgentOptions): Started {
  const { aggregatorUrl, apiUrl = "https://127.0.0.1:1", journalDir } = options;
  const kubeconfig = join(namespace.kubeletRoot, "..", "kubeconfig");
  const named = <T>(name: string, value: T) => [{ name, ...value }];
  const config = {
    "current-context": "one",
    contexts: named("one", { context: { cluster: "one", user: "nobody" } }),
    clusters: named("one", { cluster: { server: apiUrl, "insecure-skip-tls-verify": true } }),
    users: named("nobody", { user: {} }),
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const flags = {
    node: "node-1",
    "pod-uid": "agent-1",
    kubeconfig,
    mountinfo: namespace.mountInfo,
    "metrics-bind-address": "127.0.0.1:0",
    "debug-bind-address": "127.0.0.1:0",
    "aggregator-url": aggregatorUrl,
    ...(journalDir === undefined ? {} : { "journal-dir": journalDir }),
  };
  return start(
    fileOf("agent"),
    Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  );
}

/** What an API server says that knows no pods; its watch ends at once and is begun anew. */
const NO_PODS = JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "100" }, items: [] });
const NO_CHANGE = JSON.stringify({
  type: "BOOKMARK",
  object: {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { resourceVersion: "100", annotations: { "k8s.io/initial-events-end": "true" } },
  },
});

/** In the place of the API server, which has no pods, and of the aggregator, which takes every report and settles nothing. */
async function startCluster() {
  let report: NodeReport | undefined;
  const takeReport: Route = {
    method: "PUT",
    path: "/below/v1/nodes/:node/report",
    maxBodyBytes: 100_000,
    answer: async ({ body }) => {
      const decoded = decodeNodeMessage(JSON.parse(await body()));
      if (decoded.ok && isReport(decoded.value)) report = decoded.value;
      return { status: decoded.ok ? 200 : 400, body: '{"forget":[]}' };
    },
  };
  const listPods: Route = {
    method: "GET",
    path: "/api/v1/pods",
    answer: ({ query }) => ({
      status: 200,
      body: query.has("watch") ? `${NO_CHANGE}\n` : NO_PODS,
      contentType: "application/json",
    }),
  };
  const server = await listen([takeReport, listPods], { host: "127.0.0.1", port: 0 }, createFakeLogger());
  onTestFinished(() => server.close());
  return {
    urls: { aggregatorUrl: `${server.url}/below/`, apiUrl: server.url },
    report: () => report,
    reported: (limitMs: number, check: (report: NodeReport | undefined) => void): Promise<void> =>
      waitUntil(waiter, { what: "the report", limitMs, check: async () => check(report) }),
  };
}

describe("an agent process", () => {
  it("reports what is mounted and what was unmounted, within two seconds each", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    const { urls, report, reported } = await startCluster();
    const agent = startAgent(namespace, urls);
    await reported(20_000, (seen) => expect(seen).toMatchObject({ node: "node-1", mountedVolumes: [] }));

    await namespace.mount(CSI);
    await reported(2_000, (seen) => expect(seen?.mountedVolumes).toMatchObject([{ kind: "pod", podUid: "u1" }]));
    const [before, starvedMs] = [clock.monotonicMs(), countStarvation({ clock })];
    await namespace.unmount(CSI);
    const after = clock.monotonicMs();
    await reported(2_000, (seen) => expect(seen?.unmountRecords).toHaveLength(1));

    // Both read the boot clock, so the truth lies in the interval of the unmount record.
    const [release] = report()?.unmountRecords ?? [];
    expect(release?.after).toBeLessThanOrEqual(after);
    expect(release?.by).toBeGreaterThanOrEqual(before);
    expect((release?.by ?? 0) - before - starvedMs()).toBeLessThan(1_000);
    expect(await timeToEnd(agent, () => agent.process.kill("SIGTERM"))).toBeLessThan(2_000);
    expect(await agent.ended).toBe(0);
  });

  it("that is killed reports after its restart what was unmounted meanwhile, and its gap", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    await namespace.mount(CSI);
    const journalDir = join(namespace.kubeletRoot, "..", "journal");
    mkdirSync(journalDir);
    const { urls, report, reported } = await startCluster();
    const first = startAgent(namespace, { ...urls, journalDir });
    await reported(20_000, (seen) => expect(seen?.mountedVolumes).toMatchObject([{ podUid: "u1" }]));
    const { instance, scan, mountedVolumes } = report() ?? {};
    first.process.kill("SIGKILL");
    await first.ended;

    await namespace.unmount(CSI);
    const unmountedBy = clock.monotonicMs();
    startAgent(namespace, { ...urls, journalDir });
    await reported(20_000, (seen) => expect(seen?.instance).not.toBe(instance));
    await reported(5_000, (seen) => expect(seen?.unmountRecords).toHaveLength(1));

    const after = report();
    const [release] = after?.unmountRecords ?? [];
    expect(mountedVolumes).toHaveLength(1);
    expect(after?.mountedVolumes).toEqual([]);
    expect(release?.after).toBeGreaterThanOrEqual(scan?.beganAt ?? Number.NaN);
    expect(release?.after).toBeLessThanOrEqual(unmountedBy);
    expect(release?.by).toBeGreaterThanOrEqual(unmountedBy);
    expect(after?.agentGaps).toEqual([
      expect.not.objectContaining({ from: expect.anything() }),
      { from: expect.any(Number), to: release?.by },
    ]);
    expect(after?.agentGaps[1]?.from).toBeGreaterThanOrEqual(scan?.endedAt ?? Number.NaN);
    expect(after?.agentGaps[1]?.from).toBeLessThanOrEqual(unmountedBy);
  });

  it("stops within two seconds of SIGTERM, although it polls and gets no answers", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(TOKEN);
    const agent = startAgent(namespace, { aggregatorUrl: "http://127.0.0.1:1" });
    await said(agent, /"noticedBy":"poll".*"msg":"agent started"[\s\S]*report not delivered/);

    expect(await timeToEnd(agent, () => agent.process.kill("SIGTERM"))).toBeLessThan(2_000);

    expect(await agent.ended).toBe(0);
    expect(agent.output()).toContain('"msg":"agent stopped"');
  });

  it("prints all problems of its flags and exits with 1", async () => {
    const agent = start(fileOf("agent"), ["--heartbeat=soon", "--kubelet-root=here"]);

    expect(await agent.ended).toBe(1);

    const [title, ...problems] = agent.output().trimEnd().split("\n");
    expect(title).toBe("invalid configuration:");
    expect(problems.map((line) => line.trim().split(" ")[0])).toEqual([
      "--kubelet-root",
      "--heartbeat",
      "--node",
      "--pod-uid",
      "--aggregator-url",
    ]);
  });
});

describe("a program that polls", () => {
  it.each([
    {
      name: "an uncaught exception",
      ending: "throw",
      line: /"level":"fatal".*thrown where nobody catches it/,
    },
    {
      name: "an unhandled rejection",
      ending: "reject",
      line: /"level":"fatal".*rejected where nobody catches it/,
    },
    { name: "a failure", ending: "fail", line: /"level":"fatal".*cannot listen/ },
    { name: "a configuration that is wrong, without a stack", ending: "config", line: /^poll\n--flag is missing\n$/ },
  ])("ends within two seconds with 1 and a line after $name", async ({ ending, line }) => {
    const program = start(POLLING, [ending]);
    await waitUntil(waiter, {
      what: "the program",
      limitMs: 20_000,
      check: async () => expect(program.output()).toContain("poll\n"),
    });

    expect(await timeToEnd(program)).toBeLessThan(2_000);

    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(line);
  });

  it("ends within two seconds with 0 after Ctrl-C", async () => {
    const program = start(POLLING, ["stay"]);
    await said(program, /poll\n/);

    const ms = await timeToEnd(program, () => program.process.kill("SIGINT"));

    expect(ms).toBeLessThan(2_000);
    expect(await program.ended).toBe(0);
  });
});

describe("a dry run", () => {
  async function dryRun(namespace: MountNamespace, ...more: readonly string[]): Promise<Started> {
    const run = start(fileOf("agent"), [
      "--dry-run",
      "--mountinfo",
      namespace.mountInfo,
      "--kubelet-root",
      `${namespace.kubeletRoot}/`,
      ...more,
    ]);
    await run.ended;
    return run;
  }

  it("shows what is mounted as a table, and that absence is not proven", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(CSI);

    const run = await dryRun(namespace);

    expect(await run.ended).toBe(0);
    const lines = run.output().split("\n");
    expect(lines.slice(2, 6)).toEqual([
      expect.stringMatching(`^Mount table +${namespace.mountInfo}, \\d+ lines, of another mount namespace$`),
      expect.stringMatching(`^Kubelet root +${namespace.kubeletRoot} \\(given\\), cannot be looked at from here$`),
      expect.stringMatching(/^Changes +noticed at once, by poll\(2\); clock monotonic-raw, drift at most 200 ppm$/),
      expect.stringMatching(
        /^Absence +not proven: outside a pod: nothing proves that this is the kubelet's mount table$/,
      ),
    ]);
    expect(lines.slice(6, 11)).toEqual([
      "",
      expect.stringMatching(/^KIND {2}VOLUME {2}POD UID {2}TYPE {3}MOUNT POINT$/),
      `pod   pv-1    u1       tmpfs  ${namespace.kubeletRoot}/${CSI}`,
      "",
      `1 volume mount below ${namespace.kubeletRoot} in ${namespace.mountInfo}: 1 pod.`,
    ]);
  });

  it("shows what is mounted as JSON", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(CSI);

    const run = await dryRun(namespace, "--output=json");

    expect(JSON.parse(run.output())).toMatchObject({
      apiVersion: "agent.mooring.dev/v1",
      kind: "DryRun",
      node: { kernel: release(), bootId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      mountTable: { path: namespace.mountInfo, mountNamespace: "other", damagedLines: 0 },
      kubeletRoot: { path: namespace.kubeletRoot, isGiven: true, exists: null },
      changes: { noticedBy: "poll", clock: "monotonic-raw", driftPpm: 200 },
      absence: { isProven: false },
      counts: { pod: 1, subpath: 0, block: 0, staging: 0 },
      mountedVolumes: [
        {
          kind: "pod",
          volume: { by: "name", name: "pv-1" },
          podUid: "u1",
          mountPoint: `${namespace.kubeletRoot}/${CSI}`,
          fsType: "tmpfs",
        },
      ],
    });
  });

  it("suggests the kubelet's root when another one is configured", async () => {
    const namespace = await openMountNamespace();
    await namespace.mount(CSI);

    const run = start(fileOf("agent"), ["--dry-run", "--mountinfo", namespace.mountInfo]);
    await run.ended;

    expect(run.output()).toContain(`use --kubelet-root '${namespace.kubeletRoot}'\n`);
  });

  it("reports that it cannot read the mount table, and exits with 1", async () => {
    const run = start(fileOf("agent"), ["--dry-run", "--mountinfo", "/no/such/table"]);

    expect(await run.ended).toBe(1);
    expect(run.output()).toContain("cannot read the mount table /no/such/table");
  });
});
