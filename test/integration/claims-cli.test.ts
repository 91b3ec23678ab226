import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { array, boolean, looseObject, nullable, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { createKubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import type { LastUse } from "../../common/storage/claim-status.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type ClaimsCluster, createClaimsCluster } from "./claims-cluster.ts";
import { writeKubeconfig, writePlugin } from "./kubeconfig-files.ts";

const SHOP = "claims-cli-shop";
const PLAIN = "claims-cli-plain";
const AGE = expect.stringMatching(/^[\dms]+$/);

const Listed = object({
  apiVersion: string(),
  serverTime: string(),
  items: array(
    looseObject({
      namespace: string(),
      name: string(),
      status: string(),
      since: nullable(string()),
      unusedWhileMounted: boolean(),
    }),
  ),
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the CLI as a user would, with no configuration but what the arguments name. */
function claims(...args: readonly string[]): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent" };
  return new Promise((resolve) => {
    execFile(process.execPath, [fileOf("claims"), ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

function asAdministrator(...args: readonly string[]): Promise<Ended> {
  return claims("--kubeconfig", inject("kubeconfig"), ...args);
}

/** The lines of a table without the line of titles, each cut at two or more spaces. */
function rowsOf(table: string): readonly (readonly string[])[] {
  return table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

function lastUse(pod: string, byMs: number): LastUse {
  return {
    ...{ id: "r", node: "node-b", pod: `${SHOP}/${pod}`, podUid: "u", evidence: "mount-table" },
    // The rest of a millisecond would count as uncertain, too.
    byMs: Math.ceil(byMs),
    widthMs: 12,
  };
}

let cluster: ClaimsCluster;

async function fillShop(): Promise<void> {
  await cluster.createNamespace(SHOP);
  const names = ["orders", "web", "reports", "archive", "scratch"] as const;
  const [orders, web, reports, archive] = await Promise.all(names.map((name) => cluster.createBoundClaim(SHOP, name)));
  if (!(orders && web && reports && archive)) throw new Error("there are not all claims");
  await cluster.createPendingClaim(SHOP, "waiting");
  await cluster.createPod(web, "web-0");

  // No time of a claim is from before it was made: which is a moment ago, and how old it is cannot be said.
  const now = cluster.nowMs();
  const use = { mountedOn: undefined, lastUse: undefined };
  await cluster.writeStatus(archive, { ...use, unused: true, reason: "NeverObservedInUse", sinceMs: now });
  await cluster.writeStatus(reports, {
    ...{ ...use, unused: true, reason: "Unmounted", sinceMs: now + 1_000 },
    lastUse: lastUse("reports-7", now),
  });
  await cluster.writeStatus(orders, {
    ...{ unused: false, reason: "Mounted", sinceMs: now },
    mountedOn: { nodes: ["node-a", "node-b"], more: false },
    lastUse: lastUse("orders-before", now),
  });
  await cluster.writeStatus(web, { ...use, unused: false, reason: "Referenced", sinceMs: now + 1_000 });
}

async function fillPlain(): Promise<void> {
  await cluster.createNamespace(PLAIN);
  await cluster.createBoundClaim(PLAIN, "idle");
}

beforeAll(async () => {
  cluster = await createClaimsCluster(inject("kubeconfig"), "claims-cli");
  await Promise.all([fillShop(), fillPlain()]);
});
afterAll(() => cluster.remove());

describe("claims as a table", () => {
  it("has the longest unused first and, last of all, the claim of which Kubernetes is wrong", async () => {
    const { code, stdout, stderr } = await asAdministrator("-n", SHOP);

    expect(code).toBe(0);
    expect(stdout.split("\n")[0]).toBe("CLAIM    STATUS       SINCE  EVIDENCE     NODE       LAST POD   KUBERNETES");
    expect(rowsOf(stdout)).toEqual([
      ["archive", "Unused", AGE, "first-seen", "-", "-", expect.stringMatching(/^Unused \w+$/)],
      ["reports", "Unused", AGE, "mount-table", "node-b", "reports-7", expect.stringMatching(/^Unused \w+$/)],
      ["scratch", "Not watched", "-", "-", "-", "-", expect.stringMatching(/^Unused \w+$/)],
      // Kubernetes 1.36 judges claims that are not bound, too; later ones do not.
      ["waiting", "Pending", "-", "-", "-", "-", expect.stringMatching(/^(-|Unused \w+)$/)],
      ["web", "Referenced", AGE, "pod-status", "-", "-", expect.stringMatching(/^In use \w+$/)],
      ["orders", "Mounted", AGE, "mount-table", "node-a +1", "-", expect.stringMatching(/^Unused \w+ STILL MOUNTED$/)],
    ]);
    expect(stderr).toBe(`1 claim is mounted although Kubernetes says unused; do not delete: ${SHOP}/orders\n`);
  });

  it("names the namespaces and has everything in full with -A -o wide", async () => {
    const { stdout } = await asAdministrator("-A", "-o", "wide");

    const rows = rowsOf(stdout).filter(([namespace]) => namespace === SHOP || namespace === PLAIN);
    expect(rows.map(([namespace, name]) => `${namespace}/${name}`)).toContain(`${PLAIN}/idle`);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(rows.find(([, name]) => name === "reports")).toEqual([
      ...[SHOP, "reports", "Unused", time, "mount-table", "node-b", "reports-7"],
      expect.stringMatching(/^Unused \d{4}-.*Z$/),
      ...[
        "claims-cli-claims-cli-shop-reports",
        "claims-cli",
        "1Gi",
        "Unmounted",
        expect.stringMatching(/\.\d{3}Z$/),
        "12ms",
      ],
      "Written as Unmounted",
    ]);
    expect(rows.at(-1)?.slice(0, 6)).toEqual([SHOP, "orders", "Mounted", time, "mount-table", "node-a,node-b"]);
  });
});

describe("claims as JSON", () => {
  it("has what programs need, with times that are not rounded to an age", async () => {
    const { stdout } = await asAdministrator("-n", SHOP, "-o", "json");

    const { apiVersion, items, serverTime } = parse(Listed, JSON.parse(stdout));
    expect(apiVersion).toBe("cli.mooring.dev/v1");
    expect(Math.abs((parseTimestamp(serverTime) ?? 0) - cluster.nowMs())).toBeLessThan(60_000);
    expect(items.filter(({ unusedWhileMounted }) => unusedWhileMounted)).toEqual([
      expect.objectContaining({
        ...{ name: "orders", phase: "Bound", deleting: false, status: "Mounted", reason: "Mounted" },
        mountedOn: { nodes: ["node-a", "node-b"], more: false },
        lastUse: expect.objectContaining({ pod: `${SHOP}/orders-before`, uncertaintyMs: 12 }),
        kubernetes: { unused: true, since: expect.any(String) },
      }),
    ]);
    expect(items.find(({ name }) => name === "waiting")).toMatchObject({
      ...{ phase: "Pending", status: "NotBound", since: null, lastUse: null, unusedWhileMounted: false },
    });
  });
});

describe("claims of a namespace", () => {
  it("show what is missing where Mooring does not run", async () => {
    const { code, stdout, stderr } = await asAdministrator("-n", PLAIN);

    expect(code).toBe(0);
    expect(rowsOf(stdout)).toEqual([["idle", "Not watched", "-", "-", "-", "-", expect.stringMatching(/^Unused /)]]);
    expect(stderr).toBe("No claim has Mooring's condition: is the aggregator running?\n");
  });

  it("are those of the context's namespace by default", async () => {
    const token = await cluster.createAccount(PLAIN, "reader", true);

    const { stdout } = await claims("--kubeconfig", writeKubeconfig({ token, namespace: PLAIN }));

    expect(rowsOf(stdout).map(([name]) => name)).toEqual(["idle"]);
  });

  it("may be none", async () => {
    const ended = await asAdministrator("-n", "claims-cli-nowhere");

    expect(ended).toEqual({ code: 0, stdout: "", stderr: "No claims in namespace claims-cli-nowhere.\n" });
  });
});

describe("an exec credential plugin", () => {
  it("gives the token that the claims are read with", async () => {
    const token = await cluster.createAccount(PLAIN, "plugged", true);
    const path = writeKubeconfig({ exec: writePlugin([{ token }]), namespace: PLAIN });

    const { stdout } = await claims("--kubeconfig", path);

    expect(rowsOf(stdout).map(([name]) => name)).toEqual(["idle"]);
  });

  it.each([
    { name: "when its token has expired", first: { expirationTimestamp: "2020-01-01T00:00:00Z" } },
    { name: "when the server does not accept its token", first: {} },
  ])("is asked again $name", async ({ first }) => {
    const token = await cluster.createAccount(PLAIN, `asked-${Object.keys(first).length}`, true);
    const kubeconfig = writeKubeconfig({ exec: writePlugin([{ token: "none", ...first }, { token }]) });
    const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), {
      clock: createSystemClock(),
    });
    onTestFinished(() => client.close());
    const path = `/api/v1/namespaces/${PLAIN}/persistentvolumeclaims`;
    const list = () => client.request({ method: "GET", path }, new AbortController().signal);

    const answer = await list().catch(list);

    expect(answer).toMatchObject({ items: [{ metadata: { name: "idle" } }] });
  });

  it("gets the cluster information where it requests it, as from kubectl", async () => {
    const token = await cluster.createAccount(PLAIN, "told", true);
    const { command, args } = writePlugin([{ token }]);
    const told = `*'"cluster":{"server":"https://127.0.0.1:'*'"certificate-authority-data":"'*`;
    const checks = `case "$KUBERNETES_EXEC_INFO" in ${told}) ;; *) echo "told: $KUBERNETES_EXEC_INFO" >&2; exit 1;; esac`;
    const [, gives, ...others] = args;
    const exec = { command, args: ["-c", `${checks}; ${gives}`, ...others], provideClusterInfo: true };

    const { code, stdout } = await claims("--kubeconfig", writeKubeconfig({ exec }), "-n", PLAIN);

    expect([code, rowsOf(stdout).map(([name]) => name)]).toEqual([0, ["idle"]]);
  });

  it.each([
    {
      name: "that fails is reported with its own output",
      exec: { command: "sh", args: ["-c", "echo log in first >&2; exit 1"] },
      message: "cannot get the credentials that the kubeconfig names: log in first",
      retriable: true,
    },
    {
      name: "that fails without output is reported, too",
      exec: { command: "false" },
      message: "cannot get the credentials that the kubeconfig names: the program failed without a word",
      retriable: true,
    },
    {
      name: "that does not exist is named",
      exec: { command: "mooring-no-such-program" },
      message: expect.stringContaining("spawn mooring-no-such-program ENOENT"),
      retriable: true,
    },
  ])("$name", async ({ exec, message, retriable }) => {
    const connecting = connect({ kubeconfig: writeKubeconfig({ exec }), inCluster: false }, {});

    await expect(connecting).rejects.toMatchObject({ code: "kubeconfig-invalid", message, retriable });
  });
});

describe("a failure", () => {
  it("names the right that is missing", async () => {
    const token = await cluster.createAccount(PLAIN, "stranger", false);
    const path = writeKubeconfig({ token });

    const [one, all] = await Promise.all([
      claims("--kubeconfig", path, "-n", SHOP),
      claims("--kubeconfig", path, "-A"),
    ]);

    expect([one.code, one.stdout]).toEqual([1, ""]);
    expect(one.stderr).toContain(`you lack the right "list persistentvolumeclaims" in namespace ${SHOP}.\n`);
    expect(one.stderr).toContain(`system:serviceaccount:${PLAIN}:stranger`);
    expect(all.stderr).toContain(`you lack the right "list persistentvolumeclaims" in all namespaces.\n`);
  });

  it.each([
    {
      name: "of an unknown token asks to log in",
      args: () => ["--kubeconfig", writeKubeconfig({})],
      said: "does not accept your credentials",
    },
    {
      name: "of a server that is not there names it",
      args: () => ["--kubeconfig", writeKubeconfig({ server: "https://127.0.0.1:1" })],
      said: "Cannot reach the API server https://127.0.0.1:1: connection refused\n",
    },
    {
      name: "of a missing kubeconfig names the paths that were tried",
      args: () => [],
      said: "there is no kubeconfig: KUBECONFIG is not set and ~/.kube/config does not exist\n",
    },
    {
      name: "of a kubeconfig file that is not there names it",
      args: () => ["--kubeconfig", "/nonexistent/kubeconfig"],
      said: "cannot read the kubeconfig /nonexistent/kubeconfig",
    },
    {
      name: "of an unknown context names those there are",
      args: () => ["--kubeconfig", inject("kubeconfig"), "--context", "elsewhere"],
      said: 'the kubeconfig has no context "elsewhere"; its contexts: mooring\n',
    },
    {
      name: "of a kubeconfig with a proxy reports that proxies are not supported, instead of a direct connection",
      args: () => [
        "--kubeconfig",
        writeKubeconfig({ edit: (text) => text.replace('"server":', '"proxy-url": "http://127.0.0.1:1", "server":') }),
      ],
      said: 'the kubeconfig\'s cluster "mooring" has a proxy-url, which is not supported\n',
    },
    {
      name: "of a kubeconfig that impersonates reports that this is not supported, instead of acting with all permissions",
      args: () => [
        "--kubeconfig",
        writeKubeconfig({ edit: (text) => text.replace('"token":', '"as": "somebody", "token":') }),
      ],
      said: 'the kubeconfig\'s user "mooring" impersonates another one (as), which is not supported\n',
    },
    { name: "of an unknown flag refers to the help", args: () => ["--al"], said: "Run with --help" },
  ])("$name", async ({ args, said }) => {
    const { code, stdout, stderr } = await claims(...args());

    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(said);
  });
});

describe("the output", () => {
  it("ends quietly when its reader has gone", async () => {
    const child = spawn(process.execPath, [fileOf("claims"), "--kubeconfig", inject("kubeconfig"), "-n", SHOP]);
    const complaints: string[] = [];
    child.stderr.on("data", (chunk: Buffer) => complaints.push(chunk.toString()));
    child.stdout.destroy();

    const code = await new Promise((resolve) => child.once("close", resolve));

    expect({ code, complaints }).toEqual({ code: 0, complaints: [] });
  });

  it.each(["claims", "volumes"] as const)("that finds no room says so, and fails: %s", async (program) => {
    await using full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [fileOf(program), "--help"], { stdio: ["ignore", full.fd, "pipe"] });
    const complaints: string[] = [];
    child.stderr?.on("data", (chunk: Buffer) => complaints.push(chunk.toString()));
    const [code] = await once(child, "close");

    expect([code, complaints.join("")]).toEqual([
      1,
      "error: cannot write the output: ENOSPC: no space left on device, write\n",
    ]);
  });
});
