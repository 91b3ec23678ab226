import * as v from "valibot";
import { afterEach, describe, expect, it } from "vitest";
import { createPolicyProbe, type PolicyFinding } from "../../../agent/sources/policy-probe.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { type Account, type ControlPlaneOptions, startControlPlane } from "../../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { type AttackStage, openAttackStage } from "./stage.ts";

const OWN = "/api/v1/namespaces/mooring-agents/pods/mooring-agent-node-1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const BINDING = `${ADMISSION}/validatingadmissionpolicybindings/mooring-agent.mooring.dev`;
const identity = v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) });

let owner: Owner | undefined;
let signals: Disposable | undefined;

afterEach(async () => {
  await owner?.close();
  signals?.[Symbol.dispose]();
});

async function open(options?: ControlPlaneOptions): Promise<AttackStage> {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  return await openAttackStage(owner, options && (await startControlPlane(owner, options)));
}

/** What an agent finds that has this account's token. */
async function probeOf(stage: AttackStage, isBound = true): Promise<() => Promise<PolicyFinding>> {
  const { name, uid } = v.parse(identity, await stage.api.get(OWN)).metadata;
  const account = { namespace: "mooring-agents", name: "mooring-agent" } as const;
  const serviceAccount: Account = isBound ? { ...account, pod: { name, uid } } : account;
  const kubeconfig = await stage.plane.kubeconfigFor({ serviceAccount });
  const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), stage.owner);
  stage.owner.defer(() => client.close());
  const ownPod = (): ReturnType<Parameters<typeof createPolicyProbe>[0]["ownPod"]> => ({
    namespace: "mooring-agents",
    name,
    uid,
  });
  const probe = createPolicyProbe({ client, clock: stage.owner.clock, ownPod });
  return () => probe(stage.owner.signal);
}

async function untilFound(
  stage: AttackStage,
  probe: () => Promise<PolicyFinding>,
  kind: PolicyFinding["kind"],
): Promise<void> {
  const check = async (): Promise<void> => {
    const finding = await probe();
    if (finding.kind !== kind) throw new Error(JSON.stringify(finding));
  };
  await waitUntil(stage.owner, { what: `finding ${kind}`, limitMs: 20_000, check });
}

describe("an agent that asks whether its policy is in force", () => {
  it("sees that it is, that it only warns, that it is bound no more, that it is back, and that it may not ask", async () => {
    const stage = await open();
    const probe = await probeOf(stage);
    const unbound = await probeOf(stage, false);

    await untilFound(stage, probe, "in-force");
    expect(await unbound()).toMatchObject({ kind: "unknown", why: expect.stringContaining("not for its own node") });
    await stage.api.patch(BINDING, { spec: { validationActions: ["Warn", "Audit"] } });
    await untilFound(stage, probe, "missing");
    await stage.api.patch(BINDING, { spec: { validationActions: ["Deny"] } });
    await untilFound(stage, probe, "in-force");
    await stage.api.remove(BINDING);
    await untilFound(stage, probe, "missing");
    await stage.api.remove("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/mooring-agent-reject");
    await untilFound(stage, probe, "forbidden");
  });

  it("sees that an API server knows no policies", async () => {
    const stage = await open({
      args: { "kube-apiserver": ["--disable-admission-plugins=ValidatingAdmissionPolicy"] },
    });

    await untilFound(stage, await probeOf(stage), "missing");
  });
});
