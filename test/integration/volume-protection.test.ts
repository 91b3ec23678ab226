import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { looseObject, object, optional, parse, record, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { APPLY, DEMO_PACE } from "../rig/stand-in/mooring.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  type Stage,
  startMooring,
  volumeOf,
} from "../rig/stand-in/stage.ts";
import { MANIFESTS } from "./manifest-tools.ts";

/** Real mounts, agents, aggregator and kube-controller-manager: what becomes of a volume whose claim went while it was mounted. */

const run = promisify(execFile);
const CLAIMS = ["audited", "held", "shared", "forced", "deleted", "unused"];
const POLICIES = ["policies", "volumes", "rbac"].map((name) => `${MANIFESTS}/components/protection-audit/${name}.yaml`);
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MERGE = "application/merge-patch+json";
const EDITOR = { namespace: NAMESPACE, name: "editor" } as const;
const FREED = { spec: { claimRef: null } };

const volumeSchema = looseObject({
  metadata: looseObject({ uid: string(), annotations: optional(record(string(), string()), {}) }),
  spec: looseObject({ claimRef: optional(looseObject({ name: string(), uid: optional(string()) })) }),
  status: object({ phase: string() }),
});

let owner: Owner;
let stage: Stage;
let signals: Disposable;

// A control plane of its own, without the policy that would keep the claims: here they go.
beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const cluster = await buildCluster(owner);
  stage = {
    owner,
    ...cluster,
    ...(await startMooring(owner, cluster, { ...DEMO_PACE, aggregatorFlags: ["--protection", "enforce"] })),
  };
  await makeClaims(stage, CLAIMS);
  const { kubectl, kubeconfig } = stage.plane;
  await run(kubectl, [`--kubeconfig=${kubeconfig}`, ...APPLY, ...POLICIES.flatMap((file) => ["-f", file])]);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const pathOf = (claim: string): string => `/api/v1/persistentvolumes/${volumeOf(claim).name}`;
const claimPath = (claim: string): string => `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/${claim}`;

async function volume(claim: string) {
  const { metadata, ...rest } = parse(volumeSchema, await stage.api.get(pathOf(claim)));
  const { "mooring.dev/mounted-on": mark, "mooring.dev/last-use": lastUse } = metadata.annotations;
  return { ...rest, uid: metadata.uid, mark, lastUse };
}

async function volumeThat(claim: string, what: string, holds: (found: Awaited<ReturnType<typeof volume>>) => boolean) {
  let found = await volume(claim);
  const check = async (): Promise<void> => {
    found = await volume(claim);
    if (!holds(found)) throw new Error(`it is ${JSON.stringify(found)}`);
  };
  await waitUntil(owner, { what: `volume of ${claim} ${what}`, limitMs: 30_000, check });
  return found;
}

async function gone(path: string): Promise<void> {
  const check = async (): Promise<void> => {
    const { status } = await stage.plane.api({ path });
    if (status !== 404) throw new Error("it is still there");
  };
  await waitUntil(owner, { what: `${path} gone`, limitMs: 30_000, check });
}

/** The claim goes while its volume is mounted: its pod was deleted by force. */
async function lose(claim: string) {
  const pod = await stage.kubelets[0].runPod({
    namespace: NAMESPACE,
    name: `user-of-${claim}`,
    claim,
    volume: volumeOf(claim),
  });
  await claimThat(stage, { claim, what: "mounted", holds: ({ status }: Claim) => status?.reason === "Mounted" });
  await stage.kubelets[0].forceDelete(pod);
  await stage.api.remove(claimPath(claim));
  await gone(claimPath(claim));
  await volumeThat(claim, "marked", ({ status, mark }) => status.phase === "Released" && mark !== undefined);
  return pod;
}

async function patch(
  claim: string,
  body: object,
  query = "",
): Promise<{ readonly status: number; readonly text: string }> {
  return await stage.plane.api({ method: "PATCH", path: `${pathOf(claim)}${query}`, body, contentType: MERGE });
}

const isUnmarked = ({ mark }: { readonly mark: string | undefined }): boolean => mark === undefined;

describe("audit", () => {
  it("lets a volume be freed that is mounted, and names the node on it", async () => {
    const pod = await lose("audited");

    const { mark, uid } = await volume("audited");
    const { status } = await patch("audited", FREED, "?dryRun=All");

    expect(JSON.parse(mark ?? "")).toEqual({ volumeUID: uid, nodes: ["node-a"] });
    expect(status).toBe(200);
    await stage.kubelets[0].unmount(pod);
    await volumeThat("audited", "unmarked", isUnmarked);
  });
});

describe("enforce", () => {
  beforeAll(async () => {
    const { api } = stage;
    const actions = { spec: { validationActions: ["Deny", "Audit"] } };
    await api.patch(`${BINDINGS}/mooring-volume-protection.mooring.dev`, actions);
  });

  it("keeps the claimRef and the policy of a volume that is mounted, and frees it after the unmount", async () => {
    const pod = await lose("held");
    const { uid } = await volume("held");
    const check = async (): Promise<void> => {
      const { status } = await patch("held", FREED, "?dryRun=All");
      if (status !== 403) throw new Error(`the answer is ${status}`);
    };
    await waitUntil(owner, { what: "protection of volumes", limitMs: 30_000, check });

    const freed = await patch("held", FREED);
    const given = await patch("held", { spec: { claimRef: { name: "other", uid: "other" } } });
    const unowned = await patch("held", { spec: { claimRef: { uid: null } } });
    const deleting = await patch("held", { spec: { persistentVolumeReclaimPolicy: "Delete" } });
    const unmarked = await patch("held", { metadata: { annotations: { "mooring.dev/mounted-on": null } } });
    const byStatus = await stage.plane.api({
      ...{ method: "PATCH", path: `${pathOf("held")}/status`, contentType: MERGE },
      body: { metadata: { annotations: { "mooring.dev/mounted-on": null } } },
    });
    const labelled = await patch("held", { metadata: { labels: { a: "b" } } });

    const answers = [freed, given, unowned, deleting, unmarked, byStatus].map(({ status }) => status);
    expect(answers).toEqual([403, 403, 403, 403, 403, 403]);
    expect(labelled.status).toBe(200);
    const override = `kubectl annotate pv pv-held mooring.dev/force-release="${uid.slice(0, 8)} REASON"`;
    expect(JSON.parse(freed.text).message).toContain(
      `volume pv-held is Released and still mounted on ["node-a"]: spec.claimRef stays. Wait until it is unmounted. ` +
        `To go on all the same, and lose what is written: ${override}`,
    );
    const { lastUse } = await volume("held");
    const unmounted = await stage.kubelets[0].unmount(pod);
    const found = await volumeThat("held", "unmarked", isUnmarked);
    expect((await patch("held", FREED)).status).toBe(200);
    await volumeThat("held", "Available", ({ status }) => status.phase === "Available");
    expect(lastUse).toBeUndefined();
    const use = JSON.parse(found.lastUse ?? "");
    expect(use).toMatchObject({ node: "node-a", pod: `${NAMESPACE}/user-of-held`, evidence: "mount-table" });
    expect(parseTimestamp(use.releasedAt)).toBeGreaterThanOrEqual(unmounted.notBeforeMs);
  });

  it("keeps a volume that is only staged", async () => {
    const pod = await lose("shared");

    await stage.kubelets[0].unmount(pod);
    await volumeThat("shared", "with its last use", ({ lastUse }) => lastUse !== undefined);
    const staged = await patch("shared", FREED);
    await stage.kubelets[0].unstage(volumeOf("shared"));
    await volumeThat("shared", "unmarked", isUnmarked);

    expect(staged.status).toBe(403);
    expect((await patch("shared", FREED)).status).toBe(200);
  });

  it("releases it for a user who may override, and kube-controller-manager binds it", async () => {
    const { plane, api } = stage;
    const pod = await lose("forced");
    const { uid } = await volume("forced");
    const as = [`--kubeconfig=${plane.kubeconfig}`, "create"];
    const subject = `--serviceaccount=${EDITOR.namespace}:${EDITOR.name}`;
    await run(plane.kubectl, [...as, "serviceaccount", EDITOR.name, "-n", EDITOR.namespace]);
    await run(plane.kubectl, [...as, "clusterrole", "pv", "--verb=get,patch", "--resource=persistentvolumes"]);
    await run(plane.kubectl, [...as, "clusterrolebinding", "pv", "--clusterrole=pv", subject]);
    const editor = await plane.apiAs(EDITOR);
    const annotate = (value: string | null) => ({
      ...({ method: "PATCH", path: pathOf("forced"), contentType: MERGE } as const),
      body: { metadata: { annotations: { "mooring.dev/force-release": value } } },
    });

    const refused = await editor(annotate(`${uid.slice(0, 8)} lost`));
    const other = await plane.api(annotate("00000000 copied"));
    const copied = await patch("forced", FREED);
    await run(plane.kubectl, [...as, "clusterrolebinding", "release", "--clusterrole=mooring-force-release", subject]);
    const allowed = await editor(annotate(`${uid.slice(0, 8)} lost`));
    const reserved = await patch("forced", { spec: { claimRef: { name: "next", uid: null, resourceVersion: null } } });
    await volumeThat("forced", "Available", ({ status }) => status.phase === "Available");
    const taken = await plane.api(annotate(null));
    const { mark } = await volume("forced");
    const spec = { accessModes: ["ReadWriteOnce"], storageClassName: "demo", volumeName: "pv-forced" };
    const resources = { requests: { storage: "1Gi" } };
    await api.create(claimPath("").slice(0, -1), { metadata: { name: "next" }, spec: { ...spec, resources } });
    await claimThat(stage, { claim: "next", what: "bound", holds: ({ phase }: Claim) => phase === "Bound" });

    const answers = [refused, other, copied, allowed, reserved, taken].map(({ status }) => status);
    expect(answers).toEqual([403, 200, 403, 200, 200, 200]);
    expect(refused.text).toContain("force-release on volumes.mooring.dev");
    expect(mark).toBeDefined();
    await volumeThat("forced", "unmarked, being Bound", (found) => found.status.phase === "Bound" && isUnmarked(found));
    await stage.kubelets[0].unmount(pod);
  });

  it("does not keep a volume that is deleted", async () => {
    const pod = await lose("deleted");

    await stage.api.remove(pathOf("deleted"));

    await gone(pathOf("deleted"));
    await stage.kubelets[0].unmount(pod);
  });

  it("leaves the last use of an unused claim on its volume, which is not protected", async () => {
    const { kubelets, api } = stage;
    const claim = "unused";
    const pod = await kubelets[0].runPod({ namespace: NAMESPACE, name: "user", claim, volume: volumeOf(claim) });
    await claimThat(stage, { claim, what: "mounted", holds: ({ status }: Claim) => status?.reason === "Mounted" });
    await kubelets[0].unmount(pod);
    await kubelets[0].forceDelete(pod);
    const { claim: idle } = await claimThat(stage, {
      claim,
      what: "idle",
      holds: ({ status }) => status?.unused === true,
    });

    await api.remove(claimPath(claim));
    const found = await volumeThat(claim, "with its last use", ({ lastUse }) => lastUse !== undefined);

    expect(JSON.parse(found.lastUse ?? "")).toMatchObject({
      claimUID: idle.uid,
      release: idle.status?.lastUse?.id,
      pod: `${NAMESPACE}/user`,
    });
    await volumeThat(claim, "Released", ({ status }) => status.phase === "Released");
    expect((await patch(claim, FREED)).status).toBe(200);
  });
});
