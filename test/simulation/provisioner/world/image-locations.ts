import { textAt } from "../../engine/api/json.ts";
import type { ApiObject, JsonObject } from "../../engine/api/objects.ts";
import type { Disk, Inode } from "../node/disk.ts";
import type { Place } from "../node/kernel.ts";
import { POOL, POOL_FILE } from "./controllers.ts";
import { imageName } from "./judge.ts";
import type { ProvisionerNode } from "./node.ts";

/** Where the image of a volume was when its PersistentVolume was created, and the file that identified its pool. */
interface ImageLocation {
  readonly disk: Disk;
  readonly folder: string;
  /** Copies of a disk keep the inode number. */
  readonly poolFile: number;
}

/** Where images belong, by the content of the disks, not by what the product wrote. */
export class ImageLocations {
  readonly #known = new Map<string, ImageLocation>();

  /** A PersistentVolume was created: returns what is wrong with the place that it names. */
  onVolume(node: ProvisionerNode, { metadata }: ApiObject): string | undefined {
    const pool = textAt(metadata.annotations, POOL);
    const place = node.kernel.pools.get(pool);
    const file = place && fileOf(place, POOL_FILE);
    if (place === undefined || file === undefined) return `${node.name} has no pool "${pool}"`;
    if (!isProtected(file.now.text, textAt(metadata.annotations, "local.mooring.dev/pool-id")))
      return `its pool has another ID: ${file.now.text}`;
    if (wholeImage(place, metadata.name) === undefined) return `pool "${pool}" of ${node.name} has no image of it`;
    this.#known.set(metadata.name, { disk: place.disk, folder: place.folder, poolFile: file.number });
    return undefined;
  }

  /** The pool of the volume, where it is present and no other pool has its place. */
  placeOf(node: ProvisionerNode, { metadata }: ApiObject): Place | undefined {
    const place = node.kernel.pools.get(textAt(metadata.annotations, POOL));
    const file = place && fileOf(place, POOL_FILE);
    if (place === undefined || file === undefined) return undefined;
    const location = this.#known.get(metadata.name);
    if (location === undefined)
      return isProtected(file.now.text, textAt(metadata.annotations, "local.mooring.dev/pool-id")) ? place : undefined;
    const isAtLocation =
      location.disk === place.disk && location.folder === place.folder && location.poolFile === file.number;
    return isAtLocation ? place : undefined;
  }

  /** The volume's complete image, where its pool is present and has one. */
  imageOf(node: ProvisionerNode, volume: ApiObject): WholeImage | undefined {
    const place = this.placeOf(node, volume);
    return place && wholeImage(place, volume.metadata.name);
  }
}

/** Whether the text of a pool's file has this ID. */
function isProtected(text: string, id: string): boolean {
  const value: JsonObject = JSON.parse(text);
  return value.id === id;
}

function fileOf({ disk, folder }: Place, name: string): Inode | undefined {
  return disk.folder(folder).names.get(name);
}

interface WholeImage {
  readonly inode: Inode;
  readonly ending: string;
}

function wholeImage({ disk, folder }: Place, volume: string): WholeImage | undefined {
  const images = [...disk.folder(folder).names].flatMap(([file, inode]) => {
    const image = imageName(file);
    return image?.volume === volume && image.ending !== "partial" ? [{ inode, ending: image.ending }] : [];
  });
  return images[0];
}

/** The files of a volume that would remain after the worst power cut. */
export function durableFiles({ disk, folder }: Place, volume: string): readonly (readonly [string, Inode])[] {
  return [...disk.folder(folder).durable].filter(([file]) => imageName(file)?.volume === volume);
}
