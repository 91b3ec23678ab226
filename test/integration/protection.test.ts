import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { array, looseObject, object, optional, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { APPLY } from "../rig/stand-in/mooring.ts";
import { type BareCluster, CLAIMS, startBareCluster } from "./bare-cluster.ts";
import { overlay } from "./manifest-tools.ts";

const run = promisify(execFile);
const CLIENT = { namespace: "shop", name: "editor" } as const;
const MOUNTED = { type: "mooring.dev/Unused", status: "False", reason: "Mounted", message: "pod shop/a on node-1" };
const UNUSED = { type: "mooring.dev/Unused", status: "True", reason: "Unmounted", message: "last used on node-1" };
const STAGED = { type: "mooring.dev/Staged", status: "True", reason: "Staged", message: "staged on node-1" };

const stored = looseObject({
  metadata: looseObject({
    uid: string(),
    deletionTimestamp: optional(string()),
    finalizers: optional(array(string()), []),
  }),
});
const volumePhase = looseObject({ status: object({ phase: string() }) });

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let cluster: BareCluster;

// A control plane of its own: protection holds what other tests delete, and the policies stay.
beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await startControlPlane(owner, { parts: ["kube-controller-manager"] });
  cluster = await startBareCluster(owner, plane);
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function kubectl(...args: readonly string[]) {
  return await run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, "-n", "shop", ...args]);
}

/** Installs a mode, and waits until the API server acts by it: it loads each policy for itself, within seconds. */
async function install(
  component: string,
  { warns, keeps }: { readonly warns: string; readonly keeps: boolean },
): Promise<void> {
  const folder = await overlay(owner.folder, component, { components: [component], image: { newTag: "1" } });
  await run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...APPLY, "-k", folder]);
  await claimWith(`probe-${component}`, MOUNTED);
  const check = async (): Promise<void> => {
    const { stderr } = await kubectl("delete", "pvc", `probe-${component}`, "--dry-run=server");
    if (!stderr.includes(warns)) throw new Error(`kubectl says ${stderr}`);
    const { status } = await takeFinalizerAway(`probe-${component}`, "?dryRun=All");
    if ((status === 403) !== keeps) throw new Error(`the finalizer can${keeps ? "" : "not"} be taken away`);
  };
  await waitUntil(owner, { what: component, limitMs: 30_000, check });
}

/** A bound claim with Mooring's condition, as the aggregator writes it. */
async function claimWith(name: string, ...conditions: readonly (typeof MOUNTED)[]): Promise<string> {
  await cluster.createClaims([name]);
  const protectedBy = async (): Promise<void> => {
    const { metadata } = await claim(name);
    if (!metadata.finalizers.includes("kubernetes.io/pvc-protection")) throw new Error("it has no finalizer yet");
  };
  await waitUntil(owner, { what: `${name} protected by Kubernetes`, limitMs: 20_000, check: protectedBy });
  await say(name, ...conditions);
  return (await claim(name)).metadata.uid;
}

async function say(name: string, ...conditions: readonly (typeof MOUNTED)[]): Promise<void> {
  await cluster.api.patch(`${CLAIMS}/${name}/status`, { status: { conditions } });
}

async function claim(name: string) {
  return parse(stored, await cluster.api.get(`${CLAIMS}/${name}`));
}

async function gone(name: string): Promise<void> {
  const check = async (): Promise<void> => {
    const { status } = await plane.api({ path: `${CLAIMS}/${name}` });
    if (status !== 404) throw new Error("it is still there");
  };
  await waitUntil(owner, { what: `${name} gone`, limitMs: 20_000, check });
}

/** Kubernetes' controller has tried to remove the claim's finalizer, and was refused. */
async function held(name: string): Promise<void> {
  await cluster.createClaims([`after-${name}`]);
  await kubectl("delete", "pvc", `after-${name}`, "--wait=false");
  // Deleted after this one: the controller takes them in turn.
  await gone(`after-${name}`);
  expect((await claim(name)).metadata.deletionTimestamp).toBeDefined();
  const volume = parse(volumePhase, await cluster.api.get(`/api/v1/persistentvolumes/pv-${name}`));
  expect(volume.status.phase).not.toBe("Released");
}

async function takeFinalizerAway(name: string, subresource = ""): Promise<{ status: number; text: string }> {
  const contentType = "application/merge-patch+json";
  const body = { metadata: { finalizers: null } };
  return await plane.api({ method: "PATCH", path: `${CLAIMS}/${name}${subresource}`, body, contentType });
}

describe("audit", () => {
  beforeAll(() => install("protection-audit", { warns: "is in use: pod shop/a on node-1", keeps: false }));

  it("warns the user who deletes a mounted claim, and lets it be removed", async () => {
    await claimWith("audited", MOUNTED);

    const { stderr } = await kubectl("delete", "pvc", "audited");

    expect(stderr).toContain("claim shop/audited is in use: pod shop/a on node-1");
    expect(stderr).not.toContain("Terminating");
    await gone("audited");
  });
});

describe("enforce", () => {
  beforeAll(() => install("protection-enforce", { warns: "stays Terminating", keeps: true }));

  it.each([
    { name: "mounted", conditions: [MOUNTED] },
    { name: "staged", conditions: [UNUSED, STAGED] },
  ])("keeps a claim that is $name until that is over", async ({ name, conditions }) => {
    await claimWith(name, ...conditions);

    const { stderr } = await kubectl("delete", "pvc", name, "--wait=false");

    expect(stderr).toContain("It stays Terminating until the volume is unmounted");
    await held(name);
    await say(name, UNUSED);
    await gone(name);
  });

  it.each([
    { name: "unused", conditions: [UNUSED] },
    { name: "unknown", conditions: [] },
  ])("lets a claim that is $name be removed, without a warning", async ({ name, conditions }) => {
    await claimWith(name, ...conditions);

    const { stderr } = await kubectl("delete", "pvc", name);

    expect(stderr).toBe("");
    await gone(name);
  });

  it.each(["", "/status"])("refuses an administrator who takes the finalizer away through %j", async (subresource) => {
    const name = subresource === "" ? "by-hand" : "by-status";
    const uid = await claimWith(name, MOUNTED);

    const { status, text } = await takeFinalizerAway(name, subresource);

    expect(status).toBe(403);
    expect(text).toContain("pod shop/a on node-1");
    expect(JSON.parse(text).message).toContain(
      `kubectl annotate pvc -n shop ${name} mooring.dev/force-release="${uid.slice(0, 8)} REASON"`,
    );
  });

  it("keeps a claim whose override names another claim", async () => {
    await claimWith("copied", MOUNTED);
    await kubectl("annotate", "pvc", "copied", "mooring.dev/force-release=00000000 copied");

    await kubectl("delete", "pvc", "copied", "--wait=false");

    await held("copied");
  });

  it("does not count an override that comes with the write that takes the finalizer away", async () => {
    const uid = await claimWith("at-once", MOUNTED);
    const contentType = "application/merge-patch+json";
    const annotations = { "mooring.dev/force-release": uid.slice(0, 8) };
    const body = { metadata: { finalizers: null, annotations } };

    const { status } = await plane.api({ method: "PATCH", path: `${CLAIMS}/at-once`, body, contentType });

    expect(status).toBe(403);
  });

  it("lets a claim be removed whose override an allowed user sets, and no other user", async () => {
    const uid = await claimWith("forced", MOUNTED);
    await kubectl("create", "serviceaccount", CLIENT.name);
    await kubectl("create", "rolebinding", "editor", "--clusterrole=edit", `--serviceaccount=shop:${CLIENT.name}`);
    const editor = await plane.apiAs(CLIENT);
    const contentType = "application/merge-patch+json";
    const body = { metadata: { annotations: { "mooring.dev/force-release": `${uid.slice(0, 8)} lost anyway` } } };
    const set = () => editor({ method: "PATCH", path: `${CLAIMS}/forced`, body, contentType });
    await kubectl("delete", "pvc", "forced", "--wait=false");
    await held("forced");

    const refused = await set();
    const released = "--clusterrole=mooring-force-release";
    await kubectl("create", "rolebinding", "release", released, `--serviceaccount=shop:${CLIENT.name}`);
    const allowed = await set();

    expect([refused.status, allowed.status]).toEqual([403, 200]);
    expect(refused.text).toContain("force-release on claims.mooring.dev");
    await gone("forced");
  });

  it("keeps none of its neighbours where all claims are deleted at once", async () => {
    const names = ["one", "two", "three"];
    await Promise.all(names.map((name) => claimWith(`all-${name}`, name === "two" ? MOUNTED : UNUSED)));
    await Promise.all(names.map((name) => kubectl("label", "pvc", `all-${name}`, "group=all")));

    const { status } = await plane.api({ method: "DELETE", path: `${CLAIMS}?labelSelector=group%3Dall` });

    expect(status).toBe(200);

    await gone("all-one");
    await gone("all-three");
    expect((await claim("all-two")).metadata.deletionTimestamp).toBeDefined();
    await say("all-two", UNUSED);
    await gone("all-two");
  });
});
