import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { array, type InferOutput, object, optional, string } from "valibot";

/** Loaded by name when a host name is looked up, on a glibc before 2.34; nothing says that they are needed. */
const NAME_SERVICE = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];
/** Debian's own account of which package brought which file. */
const DPKG = "/var/lib/dpkg";

/** C libraries in the image: where each is, its hash, and the distribution's package that it is from, where there is one. */
export const Libraries = array(
  object({ path: string(), sha256: string(), package: optional(object({ name: string(), version: string() })) }),
);
export type Libraries = InferOutput<typeof Libraries>;

/** The libraries and the loader that Node.js and the native package have loaded in this process. */
export function loadedLibraries(): readonly string[] {
  createRequire(import.meta.url)("koffi");
  // Names of the machine's addresses are not asked for: that would ask the network.
  Reflect.set(process.report, "excludeNetwork", true);
  const found: unknown = Reflect.get(process.report.getReport(), "sharedObjects");
  const libraries = (Array.isArray(found) ? found : []).filter((one) => typeof one === "string").filter(isLibrary);
  if (libraries.length === 0) throw new Error("Node.js reports no loaded library");
  const folders = [...new Set(libraries.map(dirname))];
  const named = folders.flatMap((folder) => NAME_SERVICE.map((name) => join(folder, name))).filter(existsSync);
  return [...new Set([...libraries, ...named])];
}

/** Whether it is a library or the loader; the kernel's own and Node.js itself are in the list, too. */
function isLibrary(path: string): boolean {
  return path.startsWith("/") && path !== process.execPath && !path.endsWith(".node") && existsSync(path);
}

/** What is known of libraries of this machine. */
export function describeLibraries(paths: readonly string[], dpkg = DPKG): Libraries {
  const owners = ownersIn(dpkg);
  const versions = versionsIn(dpkg);
  return paths.map((path) => {
    const file = realpathSync(path);
    const name = [path, file].map((one) => owners.get(merged(one))).find((owner) => owner !== undefined);
    const version = name === undefined ? undefined : versions.get(name);
    const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
    return { path, sha256, ...(name !== undefined && version !== undefined && { package: { name, version } }) };
  });
}

/** `/lib` and `/usr/lib` are one folder. */
function merged(path: string): string {
  return path.replace(/^\/usr\//, "/");
}

function ownersIn(dpkg: string): ReadonlyMap<string, string> {
  const folder = join(dpkg, "info");
  const lists = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".list")) : [];
  return new Map(
    lists.flatMap((list) => {
      const owner = list.replace(/(:[^:]+)?\.list$/, "");
      const files = readFileSync(join(folder, list), "utf8").split("\n");
      return files.filter((file) => file.includes(".so")).map((file): [string, string] => [merged(file), owner]);
    }),
  );
}

function versionsIn(dpkg: string): ReadonlyMap<string, string> {
  const file = join(dpkg, "status");
  const paragraphs = existsSync(file) ? readFileSync(file, "utf8").split("\n\n") : [];
  return new Map(paragraphs.map((text): [string, string] => [fieldOf(text, "Package"), fieldOf(text, "Version")]));
}

function fieldOf(paragraph: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, "m").exec(paragraph)?.[1] ?? "";
}

/** As CycloneDX: one component for each package, with its files; a library of no known package by its own name. */
export function libraryComponents(libraries: Libraries): readonly object[] {
  const groups = Map.groupBy(libraries, ({ path, package: from }) => from?.name ?? path);
  return [...groups].map(([name, files]) => {
    const version = files[0]?.package?.version;
    const purl =
      version === undefined ? {} : { version, purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}` };
    const components = files.map(({ path, sha256 }) => ({
      type: "file",
      name: path,
      hashes: [{ alg: "SHA-256", content: sha256 }],
    }));
    return { "bom-ref": `library:${name}`, type: "library", name, ...purl, components };
  });
}
