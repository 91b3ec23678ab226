import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { apply, kubectl } from "../../../e2e/kubectl.ts";
import { localVolume, pod, service } from "../../../e2e/objects.ts";
import { checkPort } from "../../node/checks.ts";
import { type NodeCluster, startNodeCluster } from "../../node/cluster.ts";
import { runCommand } from "../../node/commands.ts";
import { KUBELET_SYSCTLS } from "../../node/node-init.ts";
import type { RealNode } from "../../node/real-node.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { watchStarvation } from "../../process/starvation.ts";
import { waitUntil } from "../../process/wait.ts";

const clock = createSystemClock();
let owner: Owner;
let signals: Disposable;
let cluster: NodeCluster;
let startedMs: number;
/** How much of that the machine made everybody wait. */
let starvedMs: number;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const starvation = watchStarvation(owner);
  const [begin, beganAt] = [clock.monotonicMs(), clock.wallMs()];
  cluster = await startNodeCluster(owner, { nodes: 2 });
  startedMs = clock.monotonicMs() - begin;
  starvedMs = starvation(beganAt, clock.wallMs());
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function node(name: string): RealNode {
  return cluster.nodes.find((candidate) => candidate.name === name) ?? expect.fail(`there is no ${name}`);
}

/** Asks until the answer is as expected. */
function eventually(what: string, check: () => Promise<void>): Promise<void> {
  return waitUntil(owner, { what, limitMs: 120_000, everyMs: 200, check });
}

function phaseOf(pod: string): Promise<string> {
  return kubectl(cluster, "get", "pod", pod, "--output=jsonpath={.status.phase}");
}

function running(...pods: readonly string[]): Promise<void> {
  return eventually(`${pods.join(", ")}`, async () => {
    for (const pod of pods) expect(await phaseOf(pod)).toBe("Running");
  });
}

describe("a cluster of two real nodes", () => {
  it("is ready within a minute of a machine's time", () => {
    expect(startedMs - starvedMs).toBeLessThan(60_000);
  });

  it("has nodes with addresses, boot IDs and ages of their own", async () => {
    const boots = await Promise.all(cluster.nodes.map(({ run }) => run("cat", "/proc/sys/kernel/random/boot_id")));
    const uptimes = await Promise.all(cluster.nodes.map(({ run }) => run("cat", "/proc/uptime")));

    expect(new Set(boots.map((boot) => boot.trim()))).toEqual(new Set(cluster.nodes.map(({ bootId }) => bootId())));
    expect(new Set(boots).size).toBe(2);
    for (const uptime of uptimes) expect(Number.parseFloat(uptime) * 1000).toBeLessThan(startedMs + 60_000);
    expect(await kubectl(cluster, "get", "nodes", "--output=jsonpath={.items[*].status.addresses[0].address}")).toBe(
      cluster.nodes.map(({ address }) => address).join(" "),
    );
  });

  it("runs pods with volumes that reach each other by name across nodes and can be inspected", async () => {
    await node("node-1").run("mkdir", "-p", "/mnt/pages");
    await apply(
      cluster,
      ...localVolume("pages", "node-1", "/mnt/pages"),
      service("web"),
      pod({
        name: "web",
        node: "node-1",
        line: "echo hello > /pages/index.html; exec httpd -f -p 8080 -h /pages",
        volumes: {
          "/pages": { persistentVolumeClaim: { claimName: "pages" } },
        },
      }),
      pod({
        name: "reader",
        node: "node-2",
        line: "until wget -qO /seen/page http://web.default.svc/ 2> /dev/null; do sleep 0.2; done; cat /seen/page; sleep 3600",
        volumes: {
          "/seen": { hostPath: { path: "/var/seen", type: "DirectoryOrCreate" } },
        },
      }),
    );

    await eventually("the reader's page", async () => expect(await kubectl(cluster, "logs", "reader")).toBe("hello\n"));

    expect(await kubectl(cluster, "exec", "reader", "--", "cat", "/seen/page")).toBe("hello\n");
    expect(await kubectl(cluster, "exec", "web", "--", "wget", "-qO-", "http://web.default.svc/")).toBe("hello\n");
    await kubectl(cluster, "exec", "reader", "--", "sh", "-c", "nc -w 2 kubernetes.default.svc 443 < /dev/null");
    expect(await node("node-2").run("cat", "/var/seen/page")).toBe("hello\n");
    expect(await node("node-1").run("cat", "/mnt/pages/index.html")).toBe("hello\n");
  });

  it("shows a volume in its node's mount table once, and nowhere else", async () => {
    await apply(
      cluster,
      pod({
        name: "holder",
        node: "node-2",
        line: "sleep 3600",
        volumes: { "/memory": { emptyDir: { medium: "Memory" } } },
      }),
    );
    await running("holder");
    const uid = await kubectl(cluster, "get", "pod", "holder", "--output=jsonpath={.metadata.uid}");
    const volume = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/v0`;

    const tables = ["self", node("node-1").pid(), node("node-2").pid()].map((pid) =>
      readFileSync(`/proc/${pid}/mountinfo`, "utf8")
        .split("\n")
        .filter((line) => line.includes(uid) && !line.includes("projected")),
    );

    expect(tables.map((lines) => lines.length)).toEqual([0, 0, 1]);
    expect(tables[2]?.[0]?.split(" ")[4]).toBe(volume);
  });

  it("shows a pod that mounts the first process's mount table that of its node, and the node's boot ID in its own /proc", async () => {
    const volumes = { "/host/mountinfo": { hostPath: { path: "/proc/1/mountinfo", type: "File" } } };
    await apply(cluster, pod({ name: "prober", node: "node-1", line: "sleep 3600", volumes }));
    await running("prober");
    const read = (file: string): Promise<string> => kubectl(cluster, "exec", "prober", "--", "cat", file);

    expect((await read("/proc/sys/kernel/random/boot_id")).trim()).toBe(node("node-1").bootId());
    // What another pod mounts in between shows up in one of the two scans.
    await eventually("one table", async () => {
      const table = await read("/host/mountinfo");
      expect(table).toBe(readFileSync(`/proc/${node("node-1").pid()}/mountinfo`, "utf8"));
    });
  });

  it("has network and kernel settings of its own: what kubelet would write are files of the node", () => {
    const pid = node("node-1").pid();
    const settings = Object.keys(KUBELET_SYSCTLS)
      .map((name) => `/proc/sys/${name}`)
      .filter((path) => existsSync(path));

    const mountPoints = readFileSync(`/proc/${pid}/mountinfo`, "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4]);
    const [network, networkOfMachine] = [pid, "self"].map((process) => readlinkSync(`/proc/${process}/ns/net`));

    expect(settings).not.toEqual([]);
    expect(mountPoints).toEqual(expect.arrayContaining(settings));
    expect(network).not.toBe(networkOfMachine);
  });

  it("starts no pod while kubelet is frozen, and does afterwards", async () => {
    node("node-1").kubelet.freeze();
    await apply(cluster, pod({ name: "late", node: "node-1", line: "sleep 3600" }));
    await clock.sleep(3_000, owner.signal);
    expect(await phaseOf("late")).toBe("Pending");

    node("node-1").kubelet.thaw();

    await running("late");
  });

  it("keeps pods running while kubelet and containerd restart", async () => {
    await apply(cluster, pod({ name: "steady", node: "node-1", line: "sleep 3600" }));
    await running("steady");

    await node("node-1").kubelet.stop();
    await node("node-1").containerd.restart();
    await node("node-1").kubelet.start();

    await eventually("logs", async () => void (await kubectl(cluster, "exec", "steady", "--", "true")));
    expect(
      await kubectl(cluster, "get", "pod", "steady", "--output=jsonpath={.status.containerStatuses[0].restartCount}"),
    ).toBe("0");
  });

  it("boots a node again after a power failure, with its disk and its pods", async () => {
    const before = node("node-2").bootId();
    await node("node-2").run("sh", "-c", "echo kept > /var/kept");
    const begin = clock.monotonicMs();

    await node("node-2").kill();
    await node("node-2").start();

    expect(node("node-2").bootId()).not.toBe(before);
    expect(await node("node-2").run("cat", "/var/kept")).toBe("kept\n");
    const uptimeMs = 1000 * Number.parseFloat(await node("node-2").run("cat", "/proc/uptime"));
    expect(uptimeMs).toBeLessThan(clock.monotonicMs() - begin);
    await eventually("the holder's restart", async () => {
      const restarts = "--output=jsonpath={.status.containerStatuses[0].restartCount}";
      expect(await kubectl(cluster, "get", "pod", "holder", restarts)).toBe("1");
    });
    await running("holder");
  });

  it("leaves no route to a pod that is gone on the machine", async () => {
    const address = await kubectl(cluster, "get", "pod", "steady", "--output=jsonpath={.status.podIP}");
    const gone = address.replace(/\d+$/, "250");

    await checkPort(gone, 80).catch(() => {});

    expect(await runCommand({ command: "ip", args: ["route", "get", gone] })).not.toContain("redirected");
  });

  it("cuts the power also of a node whose kubelet is frozen", async () => {
    node("node-1").kubelet.freeze();

    await node("node-1").kill();

    expect(node("node-1").kubelet.isRunning()).toBe(false);
    expect(() => node("node-1").pid()).toThrow("node-1 is down");
  });
});
