// Lays out what the image's last stage has beside Mooring: Node.js, the libraries that it loads, and nothing else.
// `node .ci/launch.mjs .ci/image-root.ts <folder>`, in the image's build, where the folder of the bundle is /app.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

/** Loaded by name when a host name is looked up, on a glibc before 2.34; nothing says that they are needed. */
const NAME_SERVICE = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

/** Of Node.js itself, in its package or its image. */
const OWN_LICENCE = join(dirname(process.execPath), "../LICENSE");
/** Those of the packages that the libraries are from, where the build's base has them (Debian). */
const LICENCES = ["libatomic1", "libc6", "libgcc-s1", "libstdc++6"].map((name) => `/usr/share/doc/${name}/copyright`);

/** Whether it is a library or the loader; the kernel's own and Node.js itself are in the list, too. */
function isLibrary(path: string): boolean {
  return path.startsWith("/") && path !== process.execPath && !path.endsWith(".node") && existsSync(path);
}

/** What this process has loaded. The native package is loaded first: its libraries are needed, too. */
function loadedLibraries(): readonly string[] {
  createRequire(import.meta.url)("koffi");
  // Names of the machine's addresses are not asked for: that would ask the network.
  process.report.excludeNetwork = true;
  const { sharedObjects } = parseReport(process.report.getReport());
  const libraries = sharedObjects.filter(isLibrary);
  if (libraries.length === 0) throw new Error("Node.js tells of no library that it has loaded");
  const folders = [...new Set(libraries.map(dirname))];
  const named = folders.flatMap((folder) => NAME_SERVICE.map((name) => join(folder, name))).filter(existsSync);
  return [...new Set([...libraries, ...named])];
}

function parseReport(report: object): { readonly sharedObjects: readonly string[] } {
  const found: unknown = Reflect.get(report, "sharedObjects");
  const sharedObjects = Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  return { sharedObjects };
}

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
  put(root, "/usr/local/bin/node", process.execPath);
  chmodSync(join(root, "/usr/local/bin/node"), 0o755);
  put(root, "/usr/local/LICENSE", OWN_LICENCE);
  for (const path of LICENCES.filter(existsSync)) put(root, path);
  mkdirSync(join(root, "etc"), { recursive: true });
  const users = ["root:x:0", "mooring-agent:x:60871", "mooring-aggregator:x:60872"];
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
