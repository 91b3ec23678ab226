/** A loop device with a file, as `/sys/block` describes it. */
export interface Loop {
  /** `/dev/loop0` */
  readonly device: string;
  /** `7:0` */
  readonly number: string;
  /** The path of the file as the kernel sees it from here; ` (deleted)` follows the path of a deleted file. */
  readonly backingFile: string;
}

/** The contents of a loop device's files below `/sys/block`; undefined where a file does not exist. */
export interface LoopTexts {
  /** `loop0` */
  readonly name: string;
  readonly number: string | undefined;
  readonly backingFile: string | undefined;
}

const DELETED = / \(deleted\)$/;

/** The loop devices that have a file: the others have no backing file. */
export function attachedLoops(texts: readonly LoopTexts[]): readonly Loop[] {
  return texts.flatMap(({ name, number, backingFile }) =>
    number === undefined || backingFile === undefined
      ? []
      : [{ device: `/dev/${name}`, number: number.trim(), backingFile: backingFile.replace(/\n$/, "") }],
  );
}

/**
 * The loop devices that may have a file of this volume, by the last part of the path: the part before it depends on the mount through which
 * the file was opened. The file's identity decides.
 */
export function candidates(loops: readonly Loop[], files: readonly string[]): readonly Loop[] {
  return loops.filter(({ backingFile }) => files.includes(lastPart(backingFile)));
}

/**
 * The loop devices whose file is the device itself. The kubelet creates one for each Block volume: its file is the device, bound to a path
 * with the volume's name as a folder.
 */
export function stackedOn(
  loops: readonly Loop[],
  { device, volume }: { readonly device: string | undefined; readonly volume: string },
): readonly Loop[] {
  return loops.filter(({ backingFile }) => {
    const path = backingFile.replace(DELETED, "");
    return path === device || path.split("/").slice(0, -1).includes(volume);
  });
}

/** The loop devices whose file was deleted under one of these names. */
export function orphansOf(loops: readonly Loop[], files: readonly string[]): readonly Loop[] {
  return candidates(loops, files).filter(({ backingFile }) => DELETED.test(backingFile));
}

function lastPart(path: string): string {
  return path.replace(DELETED, "").split("/").at(-1) ?? "";
}
