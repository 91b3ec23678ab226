import { filesIn, freeBytes } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { NODES, type NodeName } from "../scenarios/stage.ts";
import { makeClaim } from "./claims.ts";
import { makePod, type Use, untilRunning } from "./pods.ts";
import { roomFor } from "./provisioner-pods.ts";
import type { ProvisionerStage } from "./stage.ts";

const MiB = 2 ** 20;
const PLACES = 10;
const RUNNERS = 20;

/** Twenty pods that want a volume of the pool `narrow`, and those of them that got one. */
export interface Race {
  readonly names: readonly string[];
  readonly uses: readonly Use[];
  /** Bytes of each volume: so large that ten fit. */
  readonly size: number;
}

/** Makes all of them at once; waits until ten run. */
export async function race(stage: ProvisionerStage, prefix: string): Promise<Race> {
  const rooms = await Promise.all(NODES.map((node) => emptyRoom(stage, node)));
  const size = sizeFor(rooms);
  const names = Array.from({ length: RUNNERS }, (_, index) => `${prefix}-${index}`);
  await Promise.all(
    names.map(async (name) => {
      await makeClaim(stage, { name, storageClass: "narrow", size: String(size) });
      await makePod(stage, { name, claim: name });
    }),
  );
  let winners: readonly string[] = [];
  await stage.until(`${PLACES} claims that are bound`, () => {
    winners = names.filter((name) => stage.claims(`default/${name}`).at(-1)?.value !== "gone" && isBound(stage, name));
    if (winners.length < PLACES) throw new HarnessError(`${winners.length} are`);
  });
  return { names, size, uses: await Promise.all(winners.map((name) => untilUse(stage, name))) };
}

/** The use of a claim by the pod of its name, once that runs. */
export async function untilUse(stage: ProvisionerStage, name: string): Promise<Use> {
  const pod = await untilRunning(stage, name);
  const uid = stage.claims(`default/${name}`).at(-1)?.uid ?? "";
  return { pod, claim: { name, uid, volume: `pvc-${uid}` } };
}

function isBound({ claims }: ProvisionerStage, name: string): boolean {
  const last = claims(`default/${name}`).at(-1)?.value;
  return last !== undefined && last !== "gone" && last.phase === "Bound";
}

/** The room of a node once the scheduler is told of all that is free there. */
async function emptyRoom(stage: ProvisionerStage, node: NodeName): Promise<number> {
  let room = 0;
  await stage.until(`the room of ${node}`, async () => {
    room = (await roomFor(stage, "narrow", node)) ?? 0;
    const place = { node: stage.node(node), pool: "narrow" };
    const [free, files] = [await freeBytes(place), await filesIn(place)];
    if (files.length > 0 || free - room > 16 * MiB) throw new HarnessError(`${room} of ${free}: ${files.join(" ")}`);
  });
  return room;
}

/** The largest size of which ten fit into these rooms, and not one more. */
function sizeFor(rooms: readonly number[]): number {
  const places = (size: number): number => rooms.reduce((sum, room) => sum + Math.floor(room / size), 0);
  for (let size = 200 * MiB; size >= 16 * MiB; size -= MiB) if (places(size) === PLACES) return size;
  throw new HarnessError(`there is no size of which ${PLACES} fit into ${rooms.join(" and ")}`);
}
