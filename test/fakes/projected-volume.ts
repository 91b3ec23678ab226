import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A folder whose files are replaced as the kubelet replaces those of a projected volume. */
export interface ProjectedVolume {
  readonly folder: string;
  /** Replaces all files at once. */
  readonly write: (files: Readonly<Record<string, string>>) => void;
}

/**
 * The steps of the kubelet's AtomicWriter (kubernetes/kubernetes: pkg/volume/util/atomic_writer.go): a new folder with the
 * files, a link to it that takes the place of `..data`, links to the files through `..data`, and the old folder goes.
 */
export function createProjectedVolume(folder: string): ProjectedVolume {
  let version = 0;
  return {
    folder,
    write: (files) => {
      version += 1;
      const next = `..2026_11_21_10_00_00.${version}`;
      mkdirSync(join(folder, next), { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, next, name), text);
      symlinkSync(next, join(folder, "..data_tmp"));
      const old = version === 1 ? undefined : readlinkSync(join(folder, "..data"));
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
      if (old === undefined) for (const name of Object.keys(files)) symlinkSync(`..data/${name}`, join(folder, name));
      else rmSync(join(folder, old), { recursive: true });
    },
  };
}
