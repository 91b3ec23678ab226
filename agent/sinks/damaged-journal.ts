import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { MooringError } from "../../common/runtime/errors.ts";
import { identityOf } from "./journal-file.ts";

/** So many damaged files are kept aside; the next takes the place of the oldest. */
const MAX_DAMAGED_FILES = 3;

/**
 * Moves a journal's file and its log out of the way, for people to look at; answers where to. Throws `MooringError` "journal-unusable"
 * when the file is no longer the one that was found damaged.
 */
export function setAside(path: string, identity: string | undefined): string {
  if (identityOf(path) !== identity)
    throw new MooringError("journal-unusable", "its file was replaced while it was opened");
  const places = Array.from({ length: MAX_DAMAGED_FILES }, (_, index) => `${path}.damaged-${index + 1}`);
  const free = places.find((place) => !existsSync(place));
  const aside = free ?? places.toSorted((one, other) => changedAt(one) - changedAt(other))[0] ?? `${path}.damaged`;
  for (const suffix of ["", "-wal"]) {
    rmSync(`${aside}${suffix}`, { force: true });
    if (existsSync(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${aside}${suffix}`);
  }
  return aside;
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
