import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPodRejector } from "../../../agent/sinks/pod-rejector.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { connect } from "../../../common/kube/connection.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { closeOnSignals } from "../../rig/process/run-owned.ts";
import { APPLY } from "../../rig/stand-in/mooring.ts";
import { AGENT_DELETIONS } from "./agent-deletions.ts";
import { aimed, create, dry } from "./attack.ts";
import { whoRefused } from "./refusal.ts";
import { type AttackStage, openAttackStage, untilRefused } from "./stage.ts";
import { SHOP } from "./victims.ts";

const MANIFESTS = fileURLToPath(new URL("../../../manifests", import.meta.url));
const identity = v.object({ metadata: v.object({ name: v.string(), uid: v.string(), resourceVersion: v.string() }) });

let owner: Owner;
let signals: Disposable;
let stage: AttackStage;

/** With the component that lets agents delete pods. */
beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAttackStage(owner);
  const overlay = join(owner.folder, "deletes");
  await mkdir(overlay);
  const path = (to: string): string => relative(overlay, `${MANIFESTS}/${to}`);
  const kustomization = { resources: [path("base")], components: [path("components/affinity-delete")] };
  await writeFile(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
  await stage.kubectl(...APPLY, "-k", overlay);
  const [first = expect.fail("there is no attack")] = AGENT_DELETIONS;
  const ask = dry(await aimed(stage.api, first));
  await untilRefused(stage, () => stage.as.agent(ask), first.refusedBy);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

describe("an agent that may delete pods", () => {
  it.each(AGENT_DELETIONS)("and $name is refused by $refusedBy", async (attack) => {
    const who = whoRefused(await stage.as[attack.by](await aimed(stage.api, attack)));

    expect(who.slice(0, attack.refusedBy.length)).toBe(attack.refusedBy);
  });

  it("may do nothing else more than before", async () => {
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "reverted" } };

    expect(whoRefused(await stage.as.agent(create(`${SHOP}/pods/reverted/eviction`, eviction)))).toBe("RBAC");
  });

  it.each([
    { what: "a pod that came back from its rejection", pod: "reverted" },
    { what: "a pod whose rejection stands", pod: "rejected" },
    { what: "a pod whose rejection stands, its container called terminated by the kubelet", pod: "given-up" },
  ])("deletes $what", async ({ pod }) => {
    const own = v.parse(identity, await stage.api.get("/api/v1/namespaces/mooring-agents/pods/mooring-agent-node-1"));
    const { name, uid } = own.metadata;
    const serviceAccount = { namespace: "mooring-agents", name: "mooring-agent", pod: { name, uid } };
    const kubeconfig = await stage.plane.kubeconfigFor({ serviceAccount });
    const client = createKubeClient(await connect({ kubeconfig, inCluster: false }, {}), owner);
    owner.defer(() => client.close());
    const { metadata } = v.parse(identity, await stage.api.get(`${SHOP}/pods/${pod}`));

    const order = { pod: { namespace: "shop", ...metadata }, mayBeSent: () => true };
    const outcome = await createPodRejector({ client, clock: owner.clock }).remove(order, owner.signal);

    expect(outcome).toEqual({ kind: "rejected" });
  });
});
