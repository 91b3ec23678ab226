import type { ImageState } from "../../protocol.ts";

/** Contains the pool's UUID. */
export const POOL_FILE = "pool.json";
/** The same file while it is written: a rename turns it into `POOL_FILE`. */
export const NEW_POOL_FILE = "pool.json.partial";

type State = ImageState["state"];

/** The name of an image's file records its state: a rename moves it from state to state. */
const ENDINGS = { partial: "partial", made: "made", published: "img" } as const satisfies Record<State, string>;
/** The most advanced state first. */
const STATES = ["published", "made", "partial"] as const satisfies readonly State[];
const IMAGE = /^(pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(partial|made|img)$/;

/** What the folder of an uninitialized pool may contain: ext4 creates the first, an interrupted initialization leaves the second. */
const NOTHING = new Set(["lost+found", NEW_POOL_FILE]);

export interface ImageName {
  readonly volume: string;
  readonly state: State;
}

export function fileOf({ volume, state }: ImageName): string {
  return `${volume}.${ENDINGS[state]}`;
}

/** Every possible file name of this volume, the most advanced state first. */
export function filesOf(volume: string): readonly string[] {
  return STATES.map((state) => fileOf({ volume, state }));
}

/** The image in a file, according to its name. */
export function imageNamed(name: string): ImageName | undefined {
  const [, volume, ending] = IMAGE.exec(name) ?? [];
  const state = STATES.find((one) => ENDINGS[one] === ending);
  return volume === undefined || state === undefined ? undefined : { volume, state };
}

/** The images of a folder, one per volume: if a volume has two files, the more advanced state counts. Other files are no images. */
export function imagesIn(names: readonly string[]): readonly ImageName[] {
  const images = new Map<string, ImageName>();
  for (const name of names) {
    const image = imageNamed(name);
    if (image === undefined) continue;
    const known = images.get(image.volume);
    if (known === undefined || STATES.indexOf(image.state) < STATES.indexOf(known.state))
      images.set(image.volume, image);
  }
  return [...images.values()];
}

/** Whether a folder contains only files that do not count. */
export function isEmpty(names: readonly string[]): boolean {
  return names.every((name) => NOTHING.has(name));
}
