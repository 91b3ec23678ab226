import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { looseObject, object, optional, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { APPLY } from "../rig/stand-in/mooring.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  readClaim,
  type Stage,
  startMooring,
  volumeOf,
} from "../rig/stand-in/stage.ts";
import { MANIFESTS } from "./manifest-tools.ts";

/** Real mounts, agents, aggregator and kube-controller-manager: what keeps a claim here is what a node has mounted. */

const run = promisify(execFile);
const CLAIMS = ["lost", "kept", "ordinary", "late", "probe"];
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const volumePhase = looseObject({ status: object({ phase: string() }) });
const deleted = looseObject({ metadata: looseObject({ deletionTimestamp: optional(string()) }) });

let owner: Owner;
let stage: Stage;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const cluster = await buildCluster(owner);
  stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, CLAIMS);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const pathOf = (claim: string): string => `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/${claim}`;

async function mountedPod(claim: string) {
  const pod = await stage.kubelets[0].runPod({
    namespace: NAMESPACE,
    name: `user-of-${claim}`,
    claim,
    volume: volumeOf(claim),
  });
  await claimThat(stage, { claim, what: "mounted", holds: isMounted });
  return pod;
}

async function gone(claim: string): Promise<void> {
  const check = async (): Promise<void> => {
    const { status } = await stage.plane.api({ path: pathOf(claim) });
    if (status !== 404) throw new Error("it is still there");
  };
  await waitUntil(owner, { what: `${claim} gone`, limitMs: 30_000, check });
}

async function phaseOf(claim: string): Promise<string> {
  return parse(volumePhase, await stage.api.get(`/api/v1/persistentvolumes/${volumeOf(claim).name}`)).status.phase;
}

/** Waits until the API server refuses to let a mounted claim go: it loads policies within seconds. */
async function enforce(): Promise<void> {
  const { plane, api } = stage;
  const file = `${MANIFESTS}/components/protection-audit/policies.yaml`;
  await run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...APPLY, "-f", file]);
  await api.patch(`${BINDINGS}/mooring-protection.mooring.dev`, { spec: { validationActions: ["Deny", "Audit"] } });
  await mountedPod("probe");
  const check = async (): Promise<void> => {
    const body = { metadata: { finalizers: null } };
    const contentType = "application/merge-patch+json";
    const path = `${pathOf("probe")}?dryRun=All`;
    const { status } = await plane.api({ method: "PATCH", path, body, contentType });
    if (status !== 403) throw new Error(`the answer is ${status}`);
  };
  await waitUntil(owner, { what: "protection", limitMs: 30_000, check });
}

describe("without protection", () => {
  it("a claim goes while a node has it mounted, and its volume is released", async () => {
    const pod = await mountedPod("lost");
    await stage.kubelets[0].forceDelete(pod);

    await stage.api.remove(pathOf("lost"));
    await gone("lost");

    const check = async (): Promise<void> => expect(await phaseOf("lost")).toBe("Released");
    await waitUntil(owner, { what: "its volume Released", limitMs: 30_000, check });
    await stage.kubelets[0].unmount(pod);
  });
});

describe("with protection", () => {
  beforeAll(enforce);

  it("a claim of a pod that was deleted by force stays until the unmount", async () => {
    const pod = await mountedPod("kept");
    await stage.kubelets[0].forceDelete(pod);
    await stage.api.remove(pathOf("kept"));
    // An ordinary deletion that is asked for later is done meanwhile: the controller takes them in turn.
    await stage.api.remove(pathOf("ordinary"));
    await gone("ordinary");

    const held = parse(deleted, await stage.api.get(pathOf("kept")));
    const phase = await phaseOf("kept");
    const { status } = await readClaim(stage.api, "kept");
    await stage.kubelets[0].unmount(pod);
    await gone("kept");

    expect(held.metadata.deletionTimestamp).toBeDefined();
    expect([phase, status?.reason]).toEqual(["Bound", "Mounted"]);
  });

  it("a mount that is noticed only after the deletion was requested keeps the claim", async () => {
    const { kubelets, api } = stage;
    const pod = await kubelets[0].createPod({
      namespace: NAMESPACE,
      name: "user-of-late",
      claim: "late",
      volume: volumeOf("late"),
    });
    await api.remove(pathOf("late"));
    await kubelets[0].mount(pod);
    await claimThat(stage, { claim: "late", what: "mounted", holds: isMounted });

    await kubelets[0].forceDelete(pod);
    await claimThat(stage, {
      claim: "late",
      what: "without a pod",
      holds: ({ status }) => status?.message.startsWith("In use: still mounted") === true,
    });

    expect(await phaseOf("late")).toBe("Bound");
    await kubelets[0].unmount(pod);
    await gone("late");
  });
});
