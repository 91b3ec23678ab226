import { readFileSync, statSync } from "node:fs";
import { array, looseObject, object, optional, parse, record, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { residentMiB } from "../bench/process-figures.ts";
import type { BuiltImage } from "../image/image.ts";
import { rolledOut, rollOut, WORKLOADS } from "../image/rollout.ts";
import { size } from "../rig/control-plane/progress.ts";
import { type NodeCluster, startNodeCluster } from "../rig/node/cluster.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { apply, kubectl } from "./kubectl.ts";
import { localVolume, pod } from "./objects.ts";

let owner: Owner;
let signals: Disposable;
let cluster: NodeCluster;
let image: BuiltImage;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startNodeCluster(owner, { nodes: 2 });
  image = await rollOut(owner, cluster);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const CONDITION = '{.status.conditions[?(@.type=="mooring.dev/Unused")]';

/** A field of a claim's condition. */
function conditionOf(claim: string, field: "status" | "reason"): Promise<string> {
  return kubectl(cluster, "get", "pvc", claim, `--output=jsonpath=${CONDITION}.${field}}`);
}

const Claim = object({
  metadata: object({
    annotations: optional(record(string(), string()), {}),
    managedFields: array(object({ manager: string(), time: string() })),
  }),
  status: object({ conditions: array(looseObject({ type: string() })) }),
});

/** All that Mooring says of a claim, and when it last wrote there. */
async function wordsOn(claim: string) {
  const text = await kubectl(cluster, "get", "pvc", claim, "--show-managed-fields", "--output=json");
  const { metadata, status } = parse(Claim, JSON.parse(text));
  return {
    annotations: Object.entries(metadata.annotations).filter(([name]) => name.startsWith("mooring.dev/")),
    conditions: status.conditions.filter(({ type }) => type === "mooring.dev/Unused"),
    writtenAt: metadata.managedFields.flatMap(({ manager, time }) => (manager === "mooring-aggregator" ? [time] : [])),
  };
}

function eventually(what: string, check: () => Promise<void>): Promise<void> {
  return waitUntil(owner, { what, limitMs: 120_000, everyMs: 200, check });
}

function reasonIs(claim: string, reason: string): Promise<void> {
  return eventually(`${claim} ${reason}`, async () => expect(await conditionOf(claim, "reason")).toBe(reason));
}

async function podsOf({ namespace }: (typeof WORKLOADS)[number]): Promise<readonly string[]> {
  const names = await kubectl(
    cluster,
    "get",
    "pods",
    `--namespace=${namespace}`,
    "--output=jsonpath={.items[*].metadata.name}",
  );
  return names.split(" ").toSorted();
}

/** Runs JavaScript in a container: there is no shell in the image. */
function evaluate(namespace: string, name: string, code: string): Promise<string> {
  return kubectl(cluster, "exec", `--namespace=${namespace}`, name, "--", "node", "-p", code);
}

describe.each(WORKLOADS)("$workload", (workload) => {
  const { namespace } = workload;
  const user = namespace === "mooring" ? 60_872 : 60_871;

  it("has two pods of the image that was built, none of them restarted", async () => {
    const template = "{range .items[*]}{.spec.containers[0].image} {.status.containerStatuses[0].restartCount} {end}";
    const found = await kubectl(cluster, "get", "pods", `--namespace=${namespace}`, `--output=jsonpath=${template}`);

    expect(found.trim()).toBe(`${image.reference} 0 ${image.reference} 0`);
  });

  it("has its two pods on different nodes", async () => {
    const nodes = await kubectl(
      cluster,
      "get",
      "pods",
      `--namespace=${namespace}`,
      "--output=jsonpath={.items[*].spec.nodeName}",
    );

    expect(nodes.split(" ").toSorted()).toEqual(["node-1", "node-2"]);
  });

  it("runs as a user of its own, confined", async () => {
    const [name = ""] = await podsOf(workload);

    const status = await evaluate(namespace, name, 'require("fs").readFileSync("/proc/1/status", "utf8")');

    const fields = new Map([...status.matchAll(/^(\w+):\s+(.*)$/gm)].map(([, field, value]) => [field, value]));
    expect(fields.get("Uid")).toBe([user, user, user, user].join("\t"));
    expect(fields.get("Gid")).toBe([user, user, user, user].join("\t"));
    expect(fields.get("CapBnd")).toBe("0000000000000000");
    expect(fields.get("CapEff")).toBe("0000000000000000");
    expect(fields.get("NoNewPrivs")).toBe("1");
    // SECCOMP_MODE_FILTER (prctl(2)).
    expect(fields.get("Seccomp")).toBe("2");
  });

  it("can write nowhere of its own", async () => {
    const [name = ""] = await podsOf(workload);

    const write = (path: string): string =>
      `try { require("fs").writeFileSync("${path}/x", ""); "written" } catch (error) { error.code }`;
    expect((await evaluate(namespace, name, write("/tmp"))).trim()).toBe("EROFS");
    expect((await evaluate(namespace, name, write("/app"))).trim()).toBe("EROFS");
  });

  it("has no program in its image but Node.js and the loader", async () => {
    const [name = ""] = await podsOf(workload);

    // What may be executed and is no library, of all that does not come from the container runtime or the kubelet.
    const code = `(() => { const fs = require("fs"); const found = []; const walk = (folder) => {
      for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        const path = folder + entry.name;
        if (/^\\/(?:proc|sys|dev|host|run|var|etc|app)$/.test(path)) continue;
        if (entry.isDirectory()) walk(path + "/");
        else if (fs.statSync(path).mode & 0o111 && !/\\.so(?:\\.|$)/.test(path)) found.push(path);
      } }; walk("/"); return found.sort().join(" "); })()`;
    expect((await evaluate(namespace, name, code)).trim()).toBe("/usr/local/bin/node");
  });
});

describe("an agent", () => {
  it("stays below half of its limit of memory", () => {
    const rss = cluster.nodes.map(({ pid }) => agentBelow(pid())).map(residentMiB);

    owner.say(`resident memory of the agents: ${rss.map((mib) => `${mib.toFixed(0)} MiB`).join(", ")}`);
    owner.say(`the image as an archive: ${size(statSync(image.archive).size)}`);
    for (const mib of rss) expect(mib).toBeLessThan(96);
  });
});

describe("a claim", () => {
  const [on, other] = ["node-1", "node-2"];

  it("is known to be mounted, and since when it is not", async () => {
    await cluster.nodes[0]?.run("mkdir", "-p", "/var/disks/orders");
    await apply(cluster, ...localVolume("orders", on, "/var/disks/orders"));
    const volumes = { "/data": { persistentVolumeClaim: { claimName: "orders" } } };
    await apply(cluster, pod({ name: "writer", node: on, line: "sleep 3600", volumes }));
    await reasonIs("orders", "Mounted");

    await kubectl(cluster, "delete", "pod", "writer", "--wait=false");

    await reasonIs("orders", "Unmounted");
    expect(await conditionOf("orders", "status")).toBe("True");
  });

  it("keeps its time, and a mounted one its condition, without a write, while agents and aggregators are replaced", async () => {
    await cluster.nodes[1]?.run("mkdir", "-p", "/var/disks/cache");
    await apply(cluster, ...localVolume("cache", other, "/var/disks/cache"));
    const volumes = { "/data": { persistentVolumeClaim: { claimName: "cache" } } };
    await apply(cluster, pod({ name: "reader", node: other, line: "sleep 3600", volumes }));
    await reasonIs("cache", "Mounted");
    const before = [await wordsOn("orders"), await wordsOn("cache")];
    const pods = await Promise.all(WORKLOADS.map(podsOf));

    for (const { namespace, workload } of WORKLOADS)
      await kubectl(cluster, "rollout", "restart", `--namespace=${namespace}`, workload);
    await rolledOut(cluster);

    // A rollout is over before the last of the old pods has ended.
    await eventually("the old pods to be gone", async () => {
      const present = await Promise.all(WORKLOADS.map(podsOf));
      expect(present.flat().filter((name) => pods.flat().includes(name))).toEqual([]);
    });
    expect([await wordsOn("orders"), await wordsOn("cache")]).toEqual(before);
    expect(before).toMatchObject([
      { conditions: [{ reason: "Unmounted" }], writtenAt: [expect.any(String)] },
      { conditions: [{ reason: "Mounted" }], writtenAt: [expect.any(String)] },
    ]);
    // The new ones also see what happens from now on.
    await kubectl(cluster, "delete", "pod", "reader", "--wait=false");
    await reasonIs("cache", "Unmounted");
  });
});

/** The agent among the processes of a node, whose first process is `init`, by its name. */
function agentBelow(init: number): number {
  const found = descendants(init).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("mooring-agent\0"),
  );
  return found ?? expect.fail(`no agent below process ${init}`);
}

function descendants(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter(Boolean)
    .map(Number);
  return [...children, ...children.flatMap(descendants)];
}
