import { NAMESPACE, readClaim } from "../rig/stand-in/stage.ts";
import { awaitClaim, check, checkUnmount, isMounted, isUnmounted, mountClaim, type Scene, show } from "./checks.ts";
import { LEFT_MOUNTED, PROTECTED, protectedClaim } from "./protected-claim.ts";
import type { Power } from "./world.ts";

/** The claims of the story; `shared` can be used on both nodes at once. */
export const CLAIMS: readonly string[] = ["orders", "reports", "cache", "shared", PROTECTED, LEFT_MOUNTED];

export const idleClaim: Scene = async (world, printer) => {
  printer.step("Claims without a use so far");
  const { claim } = await awaitClaim(world, {
    claim: "orders",
    what: "known to Mooring and to Kubernetes",
    holds: ({ status, upstream }) => status !== undefined && upstream !== undefined,
  });
  show(printer, claim);
  check(printer, claim.status?.reason === "NeverObservedInUse", "Mooring does not invent a time of last use");
  return [];
};

export const forceDelete: Scene = async (world, printer) => {
  const on = await world.spareNode();
  printer.step(`A pod mounts the claim orders on ${world.nodes[on]}`);
  const pod = await mountClaim(world, { claim: "orders", on, name: "orders-0", keptBy: "kubelet" });
  const before = await awaitClaim(world, {
    claim: "orders",
    what: "in use for Mooring and for Kubernetes",
    holds: (one) => isMounted(one) && one.upstream?.unused === false,
  });
  show(printer, before.claim);
  check(printer, true, "Mooring and Kubernetes: in use");

  printer.step("The pod is force-deleted, but the mount is still there");
  await pod.forceDelete();
  const { claim } = await awaitClaim(world, {
    claim: "orders",
    what: "unused for Kubernetes",
    holds: ({ upstream }) => upstream?.unused === true,
  });
  show(printer, claim);
  check(printer, isMounted(claim), "Kubernetes says unused, Mooring says Mounted: deleting this volume now would hurt");
  const isWriting = await pod.isWriting();
  if (isWriting !== undefined) check(printer, isWriting, "its container still runs and writes to the volume");
  printer.text(`\n    $ npm run claims -- -n ${NAMESPACE}`);
  printer.text((await world.listClaims()).trimEnd().replace(/^/gm, "    "));

  printer.step("At last the kubelet unmounts it");
  const truth = await pod.unmount();
  return await checkUnmount(world, printer, { claim: "orders", step: "unmount after a force-delete", truth });
};

export const aggregatorKilled: Scene = async (world, printer) => {
  printer.step("The aggregator is killed; meanwhile the kubelet unmounts the volume of a pod that has ended");
  const pod = await mountClaim(world, { claim: "reports", on: 0, name: "reports-0", keptBy: "driver" });
  await pod.forceDelete();
  await world.aggregator.kill();
  const truth = await pod.unmount();
  check(printer, isMounted(await readClaim(world.api, "reports")), "no aggregator runs, and the status stays");
  await world.aggregator.back();
  return await checkUnmount(world, printer, { claim: "reports", step: "aggregator killed (kill -9)", truth });
};

export const agentKilled: Scene = async (world, printer) => {
  const [agent] = world.agents;
  printer.step(`The agent of ${world.nodes[0]} is killed; meanwhile the kubelet unmounts a volume`);
  const pod = await mountClaim(world, { claim: "cache", on: 0, name: "cache-0", keptBy: "driver" });
  await pod.forceDelete();
  await agent.kill();
  const truth = await pod.unmount();
  await agent.back();
  const firstScanMs = world.owner.clock.wallMs() + 1000;
  return await checkUnmount(world, printer, { claim: "cache", step: "agent killed (kill -9)", truth, firstScanMs });
};

export const twoNodes: Scene = async (world, printer) => {
  const [first, second] = world.nodes;
  printer.step("The claim shared is mounted on two nodes by a CSI driver");
  const onFirst = await mountClaim(world, { claim: "shared", on: 0, name: "shared-0", keptBy: "driver" });
  const onSecond = await mountClaim(world, { claim: "shared", on: 1, name: "shared-1", keptBy: "driver" });
  show(printer, await readClaim(world.api, "shared"));
  await onFirst.forceDelete();
  await onFirst.unmount();
  // A round trip through another claim of the node shows that its agent has reported the unmount.
  const marker = await mountClaim(world, { claim: "orders", on: 0, name: "orders-1", keptBy: "driver" });
  const isStillMounted = isMounted(await readClaim(world.api, "shared"));
  check(printer, isStillMounted, `unmounted on ${first}, still in use on ${second}`);
  await marker.forceDelete();
  await marker.unmount();

  printer.step(`The API server is killed and restarted while ${second} unmounts it`);
  await onSecond.forceDelete();
  await world.plane.part("kube-apiserver").kill();
  const truth = await onSecond.unmount();
  await world.plane.part("kube-apiserver").start();
  const step = "API server killed (kill -9)";
  const measured = await checkUnmount(world, printer, { claim: "shared", step, truth });
  const staged = await readClaim(world.api, "shared");
  check(
    printer,
    isUnmounted(staged),
    "the staging mount is still there: it protects the volume, but it does not count as a use",
  );
  return measured;
};

export const etcdKilled: Scene = async (world, printer) => {
  printer.step("etcd is killed and restarted during an unmount");
  const pod = await mountClaim(world, { claim: "reports", on: 0, name: "reports-1", keptBy: "driver" });
  await pod.forceDelete();
  await world.plane.part("etcd").kill();
  const truth = await pod.unmount();
  await world.plane.part("etcd").start();
  return await checkUnmount(world, printer, { claim: "reports", step: "etcd killed (kill -9)", truth });
};

/** A scene for nodes whose power can be cut. */
export function powerCut({ cut, restore }: Power): Scene {
  return async (world, printer) => {
    const on = await world.spareNode();
    const node = world.nodes[on];
    printer.step(`${node} loses its power while a pod there has the claim cache mounted`);
    const pod = await mountClaim(world, { claim: "cache", on, name: "cache-1" });
    const truth = await cut(on);
    await pod.forceDelete();
    const { claim } = await awaitClaim(world, {
      claim: "cache",
      what: "unused for Kubernetes",
      holds: ({ upstream }) => upstream?.unused === true,
    });
    show(printer, claim);
    check(printer, isMounted(claim), `Mooring assumes no unmount before ${node} reports again`);
    await restore(on);
    const firstScanMs = world.owner.clock.wallMs() + 1000;
    return await checkUnmount(world, printer, { claim: "cache", step: "power cut and boot", truth, firstScanMs });
  };
}

/** The story, scene by scene. */
export const SCENES: readonly Scene[] = [
  idleClaim,
  forceDelete,
  protectedClaim,
  aggregatorKilled,
  agentKilled,
  twoNodes,
  etcdKilled,
];
