import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { formatMountLine, tokenMountPoint } from "../fakes/mount-table.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { startStopwatch } from "../rig/process/starvation.ts";
import { waitUntil } from "../rig/process/wait.ts";

/** A kubelet waits for an answer for 10 s in the manifests; this test waits less where there is none. */
const PROBE_LIMIT_MS = 1_500;

let owner: Owner;
beforeAll(async () => {
  owner = await openOwner();
});
afterAll(() => owner.close());

interface Program {
  readonly child: OwnedChild;
  readonly url: string;
  readonly lines: readonly string[];
}

/** A real program whose API server, and aggregator, refuse connections. */
async function startAlone(program: "agent" | "aggregator"): Promise<Program> {
  const [port, nobody] = [await freePort(createSystemRandom(), "127.0.0.1"), "http://127.0.0.1:1"];
  const files = { kubeconfig: join(owner.folder, `${program}-kubeconfig`), table: join(owner.folder, "mountinfo") };
  writeFileSync(files.table, formatMountLine({ mountPoint: tokenMountPoint("agent-pod") }));
  writeFileSync(files.kubeconfig, JSON.stringify(kubeconfigOf(nobody)));
  const place = ["--node", "n1", "--pod-uid", "agent-pod", "--mountinfo", files.table, "--aggregator-url", nobody];
  const own = program === "agent" ? [...place, "--debug-bind-address", "127.0.0.1:0", "--heartbeat", "500ms"] : [];
  const listening = program === "agent" ? "--metrics-bind-address" : "--api-bind-address";
  const lines: string[] = [];
  const child = owner.child({
    name: program,
    command: process.execPath,
    args: [fileOf(program), "--kubeconfig", files.kubeconfig, listening, `127.0.0.1:${port}`, ...own],
    onLine: (line) => void lines.push(line),
  });
  await child.start();
  const url = `http://127.0.0.1:${port}`;
  await waitUntil(owner, { what: program, limitMs: 30_000, child, check: async () => void (await fetch(url)) });
  return { child, url, lines };
}

function kubeconfigOf(server: string): object {
  return {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "x" },
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "nobody" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  };
}

/** As a kubelet asks: an answer in time, or none. */
async function probe({ url }: Program, limitMs = 10_000): Promise<number | "no answer"> {
  const limit = new AbortController();
  const timer = owner.clock.sleep(limitMs, limit.signal).then(() => limit.abort());
  try {
    return (await fetch(`${url}/livez`, { signal: limit.signal })).status;
  } catch {
    return "no answer";
  } finally {
    limit.abort();
    await timer;
  }
}

describe.each(["agent", "aggregator"] as const)("a real %s without an API server", (name) => {
  let program: Program;
  beforeAll(async () => {
    program = await startAlone(name);
  });

  it("lives, is not found alive while nothing in it turns, and lives on when it does", async () => {
    const before = await probe(program);
    // Like a stuck event loop: the kernel accepts connections, and no answer comes.
    program.child.signal("SIGSTOP");
    const meanwhile = await probe(program, PROBE_LIMIT_MS);
    program.child.signal("SIGCONT");
    const after = await probe(program);

    expect([before, meanwhile, after]).toEqual([200, "no answer", 200]);
  });

  it("names what it waits for, and stops cleanly on SIGTERM, well within its grace period", async () => {
    const ready = await (await fetch(`${program.url}/readyz?verbose`)).text();
    const spentMs = startStopwatch(owner);

    program.child.signal("SIGTERM");
    const exit = await program.child.exited;

    expect(ready).toContain("[+]state ok: starting");
    expect(ready).toMatch(/not (been )?listed yet/);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(spentMs()).toBeLessThan(15_000);
    expect(program.lines.join("\n")).toContain(`"msg":"${name} stopped"`);
  });
});
