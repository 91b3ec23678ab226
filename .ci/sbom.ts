// What Mooring's image is made of, as CycloneDX, and under which licences: `npm run sbom [-- file [libraries]]`, by default dist/mooring.cdx.json.
// The C libraries are those of an image that is built on this machine, or those in the list that a built image has at
// /usr/share/mooring/libraries.json.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { array, type InferOutput, looseObject, parse, string } from "valibot";
import { bundle } from "./bundle.ts";
import { describeLibraries, Libraries, libraryComponents, loadedLibraries } from "./libraries.ts";
import { licenceList, packagesIn } from "./licences.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** A whole lock file takes npm half a megabyte. */
const MAX_BYTES = 64 * 1024 * 1024;

const Component = looseObject({ "bom-ref": string(), name: string(), version: string() });
const Bom = looseObject({
  metadata: looseObject({ component: Component }),
  components: array(Component),
  dependencies: array(looseObject({ ref: string(), dependsOn: array(string()) })),
});

/** npm's own account of the lock file: it knows licences, sources and hashes of what is not installed here, too. */
function ofLockFile(): InferOutput<typeof Bom> {
  const script = process.env.npm_execpath;
  const npm = script?.endsWith("npm-cli.js") ? [process.execPath, script] : ["npm"];
  const [command = "npm", ...first] = npm;
  const args = [...first, "sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only"];
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const text = execFileSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: MAX_BYTES, stdio: [...stdio] });
  return parse(Bom, JSON.parse(text));
}

/** The folders of the packages in the image, such as `node_modules/undici`: what is not bundled is not in it. */
async function shippedFolders(): Promise<ReadonlySet<string>> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-sbom-"));
  try {
    return new Set((await bundle(folder)).packages);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Node.js comes from the base image, or as a package: either way it is in the image. Its own parts are those of its release. */
const NODE = {
  "bom-ref": `node@${process.versions.node}`,
  type: "platform",
  name: "node",
  version: process.versions.node,
  purl: `pkg:generic/node@${process.versions.node}`,
  cpe: `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:*:*:*:*`,
  licenses: [{ license: { id: "MIT" } }],
};

function librariesIn(list: string | undefined): Libraries {
  return list === undefined
    ? describeLibraries(loadedLibraries())
    : parse(Libraries, JSON.parse(readFileSync(list, "utf8")));
}

async function run(file: string, list: string | undefined): Promise<void> {
  const bom = ofLockFile();
  const folders = await shippedFolders();
  const shipped = packagesIn(readFileSync(join(root, "package-lock.json"), "utf8")).filter(({ path }) =>
    folders.has(path),
  );
  const kept = new Set(
    shipped.map(({ path, version }) => `${path.slice(path.lastIndexOf("node_modules/") + 13)}@${version}`),
  );
  const components = bom.components.filter(({ name, version }) => kept.has(`${name}@${version}`));
  const own = { ...bom.metadata.component, name: "mooring" };
  const refs = new Set([own, ...components].map((one) => one["bom-ref"]));
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => refs.has(ref)) }));
  const libraries = libraryComponents(librariesIn(list));
  const metadata = { ...bom.metadata, component: own };
  const text = JSON.stringify(
    { ...bom, metadata, components: [...components, NODE, ...libraries], dependencies },
    undefined,
    2,
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
  process.stdout.write(
    `${file}: ${components.length} packages, Node.js ${NODE.version} and C libraries of ${libraries.length} packages\n\n${licenceList(shipped)}\n`,
  );
}

await run(resolve(process.argv[2] ?? join(root, "dist/mooring.cdx.json")), process.argv[3]);
