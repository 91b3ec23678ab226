import { object, parse, string } from "valibot";
import { HarnessError } from "../rig/process/errors.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { kubectl, protectionInForce } from "../rig/stand-in/protection.ts";
import { NAMESPACE, readClaim } from "../rig/stand-in/stage.ts";
import { awaitClaim, check, isMounted, mountClaim, type Scene, show } from "./checks.ts";
import type { PodInUse, World } from "./world.ts";

/** The claim that is deleted while it is mounted. */
export const PROTECTED = "invoices";
/** The claim that stays mounted for the user to try. */
export const LEFT_MOUNTED = "ledger";
/** Longer than kube-controller-manager and the policy need together, which is a second or two. Milliseconds. */
const GONE_WITHIN_MS = 20_000;

const volumePhase = object({ status: object({ phase: string() }) });

/** A claim that a node has mounted, without a pod. */
async function mountWithoutPod(world: World, claim: string): Promise<PodInUse> {
  const on = await world.spareNode();
  const pod = await mountClaim(world, { claim, on, name: `${claim}-0`, keptBy: "driver" });
  await protectionInForce(world.owner, world.plane, { namespace: NAMESPACE, name: claim });
  await pod.forceDelete();
  return pod;
}

export const protectedClaim: Scene = async (world, printer) => {
  const { owner, plane, api } = world;
  printer.step(`The claim ${PROTECTED} is deleted while a node still has it mounted; its pod was force-deleted`);
  const pod = await mountWithoutPod(world, PROTECTED);
  printer.line("note", `kubectl -n ${NAMESPACE} delete pvc ${PROTECTED} --wait=false`);
  const { stderr } = await kubectl(plane, "-n", NAMESPACE, "delete", "pvc", PROTECTED, "--wait=false");
  for (const line of stderr.trim().split("\n")) printer.line("note", line);
  check(printer, stderr.includes("stays Terminating"), "kubectl warns: mounted, and where");
  const { claim } = await awaitClaim(world, {
    claim: PROTECTED,
    what: "deleted, without its pod",
    holds: (one) => one.isDeleting && one.status?.message.startsWith("In use: still mounted") === true,
  });
  show(printer, claim);
  const phase = async (): Promise<string> =>
    parse(volumePhase, await api.get(`/api/v1/persistentvolumes/${claim.volume ?? ""}`)).status.phase;
  const isKept = claim.isDeleting && isMounted(claim) && (await phase()) === "Bound";
  check(printer, isKept, "it is Terminating and its volume Bound: Kubernetes alone would let both go now");

  printer.step("At last the kubelet unmounts it");
  await pod.unmount();
  const begunAt = owner.clock.monotonicMs();
  const isGone = async (): Promise<void> => {
    const still = await readClaim(api, PROTECTED).catch(() => undefined);
    if (still !== undefined) throw new HarnessError("it is still there");
  };
  await waitUntil(owner, { what: `the end of ${PROTECTED}`, limitMs: GONE_WITHIN_MS, everyMs: 50, check: isGone });
  const tookMs = Math.round(owner.clock.monotonicMs() - begunAt);
  check(printer, true, `the claim goes by itself, ${tookMs} ms later`);
  return [];
};

/** Leaves a mounted claim behind, and returns commands that try to delete it. */
export async function leaveMounted(world: World): Promise<readonly string[]> {
  await mountWithoutPod(world, LEFT_MOUNTED);
  const ask = `${world.plane.kubectl} -n ${NAMESPACE}`;
  return [
    `${ask} delete pvc ${LEFT_MOUNTED} --wait=false   # mounted, though its pod is gone: it warns, and the claim stays Terminating`,
    `${ask} describe pvc ${LEFT_MOUNTED}   # the message says where; 30 s later the event DeletionHeld says how to let it go`,
  ];
}
