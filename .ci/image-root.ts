// Lays out what the image's last stage has beside Mooring: Node.js, the libraries that it loads, and nothing else.
// `node .ci/launch.mjs .ci/image-root.ts <folder>`, in the image's build, where the folder of the bundle is /app.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeLibraries, loadedLibraries } from "./libraries.ts";

/** Of Node.js itself, in its package or its image. */
const OWN_LICENCE = join(dirname(process.execPath), "../LICENSE");
/** Those of the packages that the libraries are from, where the build's base has them (Debian). */
const LICENCES = ["libatomic1", "libc6", "libgcc-s1", "libstdc++6"].map((name) => `/usr/share/doc/${name}/copyright`);

/** At the same path, under the name by which it is asked for. */
function put(root: string, path: string, from = path): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(from), target);
}

function linesOf(all: readonly string[], line: (one: string) => string): string {
  return all.map((one) => `${line(one)}\n`).join("");
}

function layOut(root: string): readonly string[] {
  const libraries = loadedLibraries();
  for (const path of libraries) put(root, path);
  // For `npm run sbom`, which does not run in the image's build.
  mkdirSync(join(root, "usr/share/mooring"), { recursive: true });
  const list = JSON.stringify(describeLibraries(libraries), undefined, 2);
  writeFileSync(join(root, "usr/share/mooring/libraries.json"), `${list}\n`);
  put(root, "/usr/local/bin/node", process.execPath);
  chmodSync(join(root, "/usr/local/bin/node"), 0o755);
  put(root, "/usr/local/LICENSE", OWN_LICENCE);
  for (const path of LICENCES.filter(existsSync)) put(root, path);
  mkdirSync(join(root, "etc"), { recursive: true });
  const users = ["root:x:0", "mooring-agent:x:60871", "mooring-aggregator:x:60872", "mooring-provisioner:x:60873"];
  writeFileSync(
    join(root, "etc/passwd"),
    linesOf(users, (user) => `${user}:${user.split(":")[2]}::/:/nologin`),
  );
  writeFileSync(
    join(root, "etc/group"),
    linesOf(users, (group) => `${group}:`),
  );
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  for (const name of ["dev", "proc", "sys", "tmp"]) mkdirSync(join(root, name), { recursive: true });
  chmodSync(join(root, "tmp"), 0o1777);
  return libraries;
}

const root = resolve(process.argv[2] ?? "image-root");
if (existsSync(root) && readdirSync(root).length > 0) throw new Error(`${root} is not empty`);
for (const path of layOut(root)) process.stdout.write(`${path}\n`);
