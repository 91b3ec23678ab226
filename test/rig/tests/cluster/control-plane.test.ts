import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { type ApiRequest, accepted } from "../../control-plane/api.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { pidsWithEnvironment } from "../../process/identity.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { RUN_VARIABLE } from "../../process/run-folder.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { waitUntil } from "../../process/wait.ts";

const MAIN = fileURLToPath(new URL("../../control-plane/main.ts", import.meta.url));
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/** Runs kubectl; its failures say what it wrote to standard error. */
async function kubectl(program: string, kubeconfig: string, args: readonly string[]): Promise<string> {
  const run = promisify(execFile)(program, [`--kubeconfig=${kubeconfig}`, ...args], { maxBuffer: 64 * 1024 * 1024 });
  return (await run).stdout;
}

describe("the control plane of the tier", () => {
  it.each([
    { name: "has the claim's unused condition switched on", gate: "PersistentVolumeClaimUnusedSinceTime" },
    { name: "lets a volume's node affinity change", gate: "MutablePVNodeAffinity" },
  ])("$name", async ({ gate }) => {
    const metrics = await kubectl(inject("kubectl"), inject("kubeconfig"), ["get", "--raw", "/metrics"]);

    expect(metrics).toMatch(new RegExp(`^kubernetes_feature_enabled\\{name="${gate}",stage="\\w+"\\} 1$`, "m"));
  });

  it("is of the pinned release, and so is kubectl", async () => {
    const version = await kubectl(inject("kubectl"), inject("kubeconfig"), ["version"]);

    expect(version).toMatch(/^Client Version: v1\.36\./m);
    expect(version).toMatch(/^Server Version: v1\.36\./m);
  });
});

describe("a control plane of a test's own", () => {
  let owner: Owner;
  let plane: ControlPlane;
  let signals: Disposable;

  beforeAll(async () => {
    owner = await openOwner();
    signals = closeOnSignals(owner);
    plane = await startControlPlane(owner, { parts: ["kube-controller-manager"] });
  });
  afterAll(async () => {
    await owner.close();
    signals[Symbol.dispose]();
  });

  function ask(request: ApiRequest): Promise<string> {
    return accepted(plane.api(request), request.path);
  }

  /** Waits until the answer to a GET has such a text. */
  function answered(path: string, text: string | RegExp): Promise<void> {
    const check = async (): Promise<void> => expect(await ask({ path })).toMatch(text);
    return waitUntil(owner, { what: path, limitMs: 20_000, check });
  }

  it("has controllers with the gate: a claim that no pod uses gets the condition", async () => {
    await ask({
      method: "POST",
      path: CLAIMS,
      body: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "idle" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } }, storageClassName: "" },
      },
    });

    await answered(`${CLAIMS}/idle`, '"type":"Unused","status":"True"');
  });

  it("knows a user by the certificate", async () => {
    const kubeconfig = await plane.kubeconfigFor({ user: "ann", groups: ["readers"] });

    const review: unknown = JSON.parse(await kubectl(plane.kubectl, kubeconfig, ["auth", "whoami", "-o", "json"]));

    expect(review).toMatchObject({
      status: { userInfo: { username: "ann", groups: ["readers", "system:authenticated"] } },
    });
  });

  it("knows a service account by the token", async () => {
    const kubeconfig = await plane.kubeconfigFor({ serviceAccount: { namespace: "default", name: "default" } });

    const review: unknown = JSON.parse(await kubectl(plane.kubectl, kubeconfig, ["auth", "whoami", "-o", "json"]));

    expect(review).toMatchObject({ status: { userInfo: { username: "system:serviceaccount:default:default" } } });
  });

  it("refuses a user what no role allows", async () => {
    const kubeconfig = await plane.kubeconfigFor({ user: "ann" });

    const listing = kubectl(plane.kubectl, kubeconfig, ["get", "secrets"]);

    await expect(listing).rejects.toThrow('User "ann" cannot list resource "secrets"');
  });

  it("reports that a service account does not exist", async () => {
    const asking = plane.kubeconfigFor({ serviceAccount: { namespace: "default", name: "nobody" } });

    await expect(asking).rejects.toThrow(
      /^token for service account default\/nobody: the API server answered 404: .*not found/,
    );
  });

  it("reports that a part was not requested", () => {
    expect(() => plane.part("kube-scheduler")).toThrow("kube-scheduler was not asked for");
  });

  it.each([
    { part: "etcd", how: "kill" },
    { part: "kube-apiserver", how: "kill" },
    { part: "kube-controller-manager", how: "kill" },
    { part: "etcd", how: "stop" },
    { part: "kube-apiserver", how: "stop" },
    { part: "kube-controller-manager", how: "stop" },
  ] as const)("has its objects and works on after the $how and the start of $part", async ({ part, how }) => {
    const name = `before-${how}-${part}`;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { kept: "yes" } };
    await ask({ method: "POST", path: CONFIG_MAPS, body });
    const before = plane.part(part).pid;

    await plane.part(part)[how]();
    expect(plane.part(part).pid).toBeUndefined();
    await plane.part(part).start();

    expect(plane.part(part).pid).not.toBe(before);
    await answered(`${CONFIG_MAPS}/${name}`, '"kept":"yes"');
    await answered("/api/v1/namespaces/default/serviceaccounts/default", '"name":"default"');
  });
});

describe("the end of a control plane", () => {
  function scratch(): string {
    const folder = mkdtempSync(join(tmpdir(), "scratch-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  async function ownerIn(parent: string): Promise<Owner> {
    const owner = await openOwner({ parent, say: () => {} });
    onTestFinished(() => owner.close());
    return owner;
  }

  it("leaves no process and no folder", async () => {
    const parent = scratch();
    const owner = await ownerIn(parent);
    await startControlPlane(owner);
    const before = pidsWithEnvironment(RUN_VARIABLE, owner.folder);

    await owner.close();

    expect(before).toHaveLength(2);
    expect(pidsWithEnvironment(RUN_VARIABLE, owner.folder)).toEqual([]);
    expect(readdirSync(parent)).toEqual([]);
  });

  it("names the part that does not start and shows its last lines", async () => {
    const owner = await ownerIn(scratch());

    const starting = startControlPlane(owner, { args: { "kube-apiserver": ["--no-such-flag"] } });

    await expect(starting).rejects.toThrow(
      /^kube-apiserver ended with code 1 before it was ready\nlast lines of .*\/kube-apiserver\.log:\n.*unknown flag: --no-such-flag/s,
    );
  });

  it("takes everything along when its program is killed, and the next start removes the folder", async () => {
    const parent = scratch();
    const program = spawn(process.execPath, [MAIN, "--part", "none"], { env: { ...process.env, TMPDIR: parent } });
    onTestFinished(() => void program.kill("SIGKILL"));
    const ended = new Promise((resolve) => program.once("close", resolve));
    const said = await new Promise<string>((resolve) => program.stdout.once("data", (chunk) => resolve(String(chunk))));
    const folder = /KUBECONFIG=(.*)\/control-plane\//.exec(said)?.[1] ?? "";
    expect(pidsWithEnvironment(RUN_VARIABLE, folder)).toHaveLength(2);

    program.kill("SIGKILL");
    await ended;
    const owner = await ownerIn(parent);

    expect(pidsWithEnvironment(RUN_VARIABLE, folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(parent)).toEqual([owner.folder.slice(parent.length + 1)]);
  });
});
