import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { withLock } from "../rig/control-plane/build-lock.ts";
import { readSettings } from "../rig/control-plane/settings.ts";
import type { Owner } from "../rig/process/owner.ts";
import { createBuildah } from "./buildah.ts";
import { contentHash, contextFiles } from "./context.ts";
import { type BaseFile, baseFiles, writeBase } from "./node-base.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const BASE = "mooring.test/node";
/** Each is as large as Node.js; those of the last few states of the sources are enough. */
const KEPT_ARCHIVES = 3;

/** Mooring's image, as an archive that a container runtime imports. */
export interface BuiltImage {
  /** `mooring.test/mooring:<hash of all that it is made of>` */
  readonly reference: string;
  /** Path of the archive, as `docker save` writes it. */
  readonly archive: string;
}

/**
 * Builds the Dockerfile, on a base of this machine's own, unless that was done before with the same sources. Throws a
 * HarnessError that says what is missing for it.
 */
export async function buildImage(owner: Owner): Promise<BuiltImage> {
  const base = await baseFiles();
  const sources = contextFiles(project).map((name) => ({ name, source: join(project, name) }));
  const hash = contentHash([...sources, ...base.map(({ path, source }) => ({ name: path, source }))]);
  const reference = `mooring.test/mooring:${hash}`;
  const folder = join(readSettings(process.env).cache, "images");
  const archive = join(folder, `mooring-${hash}.tar`);
  mkdirSync(folder, { recursive: true });
  if (!isMade(owner, archive)) {
    const lock = { path: join(folder, "lock"), what: "builds Mooring's image", random: createSystemRandom() };
    await withLock(owner, lock, async () => {
      if (isMade(owner, archive)) return;
      owner.say(`building the image ${reference}`);
      await build(owner, { base, reference, archive });
      removeOld(folder);
    });
  }
  return { reference, archive };
}

/** Whether there is such an archive; it then counts as used now. */
function isMade({ clock }: Owner, archive: string): boolean {
  if (!existsSync(archive)) return false;
  const seconds = clock.wallMs() / 1000;
  utimesSync(archive, seconds, seconds);
  return true;
}

async function build(
  owner: Owner,
  { base, reference, archive }: BuiltImage & { readonly base: readonly BaseFile[] },
): Promise<void> {
  const place = join(owner.folder, "image");
  const root = join(place, "root");
  mkdirSync(root, { recursive: true });
  const buildah = createBuildah(place);
  writeBase(root, base);
  writeFileSync(join(place, "Dockerfile"), "FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin\n");
  // Its own store is below the same folder.
  writeFileSync(join(place, ".dockerignore"), "*\n!root\n");
  await buildah.build(place, { name: BASE });
  await buildah.build(project, {
    name: reference,
    arguments: { NODE_IMAGE: BASE, UNPINNED_BASE: "allowed" },
    // What the build installs where it is not there yet.
    mounts: { "/src/node_modules": join(project, "node_modules") },
  });
  const unfinished = join(place, "image.tar");
  await buildah.save(reference, unfinished);
  // The run folder may be on another file system: only a rename within the cache is all or nothing.
  const beside = `${archive}.new`;
  rmSync(beside, { force: true });
  copyFileSync(unfinished, beside);
  renameSync(beside, archive);
  rmSync(place, { recursive: true, force: true });
}

function removeOld(folder: string): void {
  const archives = readdirSync(folder)
    .filter((name) => name.startsWith("mooring-"))
    .map((name) => ({ path: join(folder, name), usedAtMs: statSync(join(folder, name)).mtimeMs }))
    .toSorted((one, other) => other.usedAtMs - one.usedAtMs);
  for (const { path } of archives.slice(KEPT_ARCHIVES)) rmSync(path, { force: true });
}
