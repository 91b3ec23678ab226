import { readdirSync } from "node:fs";
import { object, parse, string } from "valibot";
import { STORAGE_PATHS } from "../rig/csi/objects.ts";
import { freeBytes, makeDisk, mountDisk, poolPath } from "../rig/node/pool-disks.ts";
import type { RealNode } from "../rig/node/real-node.ts";
import { WORKLOAD_IMAGE } from "../rig/node/workload.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { kubectl } from "../rig/stand-in/protection.ts";
import { NAMESPACE } from "../rig/stand-in/stage.ts";
import { awaitClaim, check, isMounted, type Scene, show } from "./checks.ts";
import type { Printer } from "./print.ts";
import type { World } from "./world.ts";

const POOL = "default";
const DISK = { filesystem: "ext4", size: "512M" } as const;
const CLASS = "local";
const CLAIM = "scratch";
const SIZE = "64Mi";
const MIB = 2 ** 20;

const placed = object({ spec: object({ nodeName: string() }) });

/** Gives a node a small disk for its pool. */
export async function givePool(owner: Owner, node: RealNode): Promise<void> {
  await mountDisk({ node, pool: POOL }, await makeDisk(owner, { node, name: POOL }, DISK));
}

/** A volume on a node's own disk, from its claim to its end. */
export const localVolume: Scene = async (world, printer) => {
  const { volume, node } = await provision(world, printer);
  await fill(world, printer, node);
  await remove(world, printer, { volume, node });
  return [];
};

async function provision(
  world: World,
  printer: Printer,
): Promise<{ readonly volume: string; readonly node: RealNode }> {
  const { owner, plane, api, poolNodes, limitMs } = world;
  printer.step(`A claim of the class ${CLASS} gets a volume on the own disk of the node that its pod is sent to`);
  await kubectl(plane, "--namespace=mooring-provisioner", "rollout", "status", "daemonset/mooring-provisioner");
  await api.create(STORAGE_PATHS.classes, {
    metadata: { name: CLASS },
    provisioner: "local.mooring.dev",
    volumeBindingMode: "WaitForFirstConsumer",
    parameters: { pool: POOL },
  });
  const begunAt = owner.clock.monotonicMs();
  await api.create(STORAGE_PATHS.claims(NAMESPACE), {
    metadata: { name: CLAIM },
    spec: { storageClassName: CLASS, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: SIZE } } },
  });
  const path = `/api/v1/namespaces/${NAMESPACE}/pods`;
  await api.create(path, podObject());
  await kubectl(plane, "-n", NAMESPACE, "wait", "pod", CLAIM, "--for=condition=Ready", `--timeout=${limitMs}ms`);
  const tookMs = Math.round(owner.clock.monotonicMs() - begunAt);
  const { spec } = parse(placed, await api.get(`${path}/${CLAIM}`));
  const node = poolNodes.find(({ name }) => name === spec.nodeName);
  const { claim } = await awaitClaim(world, { claim: CLAIM, what: "mounted", holds: isMounted });
  if (node === undefined || claim.volume === undefined) throw new HarnessError(`it is on ${spec.nodeName}`);
  check(
    printer,
    true,
    `bound to ${claim.volume} of ${SIZE} on ${node.name}; the pod runs ${tookMs} ms after the claim`,
  );
  show(printer, claim);
  return { volume: claim.volume, node };
}

function podObject(): object {
  const main = {
    name: "main",
    image: WORKLOAD_IMAGE,
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"],
  };
  return {
    metadata: { name: CLAIM },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ ...main, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: CLAIM } }],
    },
  };
}

async function fill({ plane }: World, printer: Printer, node: RealNode): Promise<void> {
  printer.step("The pod writes until nothing more fits");
  const before = await freeBytes({ node, pool: POOL });
  const command = "dd if=/dev/zero of=/data/fill bs=1M; df -h /data";
  printer.line("note", `kubectl -n ${NAMESPACE} exec ${CLAIM} -- sh -c '${command}'`);
  const { stdout, stderr } = await kubectl(plane, "-n", NAMESPACE, "exec", CLAIM, "--", "sh", "-c", command);
  for (const line of `${stderr}${stdout}`.trim().split("\n")) printer.line("note", line);
  check(printer, stderr.includes("No space left on device"), `${SIZE} were promised, and no more can be written`);
  const after = await freeBytes({ node, pool: POOL });
  const isKept = after >= before - MIB;
  check(
    printer,
    isKept,
    `the disk of ${node.name} has ${Math.round(after / MIB)} MiB free as before: no other volume lost any`,
  );
}

async function remove(
  { owner, plane, limitMs }: World,
  printer: Printer,
  { volume, node }: { readonly volume: string; readonly node: RealNode },
): Promise<void> {
  printer.step("The claim is deleted, and the pod a moment later");
  const image = `${volume}.img`;
  const images = (): readonly string[] => readdirSync(node.path(poolPath(POOL)));
  await kubectl(plane, "-n", NAMESPACE, "delete", "pvc", CLAIM, "--wait=false");
  check(printer, images().includes(image), `${image} stays while it is mounted`);
  await kubectl(plane, "-n", NAMESPACE, "delete", "pod", CLAIM);
  const begunAt = owner.clock.monotonicMs();
  const isGone = async (): Promise<void> => {
    const { status } = await plane.api({ path: `${STORAGE_PATHS.volumes}/${volume}` });
    if (status !== 404) throw new HarnessError("it is there");
  };
  await waitUntil(owner, { what: `the end of ${volume}`, limitMs, everyMs: 20, check: isGone });
  const tookMs = Math.round(owner.clock.monotonicMs() - begunAt);
  check(printer, !images().includes(image), `${tookMs} ms after the pod the volume is gone, and its image`);
}
