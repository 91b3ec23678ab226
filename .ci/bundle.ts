// Bundles what runs in pods: `node .ci/launch.mjs .ci/bundle.ts [folder]`, by default into dist.
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { noticeOf, packagesOf } from "./notices.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the image runs. The agent runs the last one as a process of its own and looks for it beside itself. */
export const PROGRAMS: Programs = {
  agent: "agent/main.ts",
  aggregator: "aggregator/main.ts",
  provisioner: "provisioner/main.ts",
  keeper: "provisioner/keeper/main.ts",
  uninstall: "cli/uninstall/main.ts",
  "os-info-program": "agent/sources/os-info-program.ts",
};

/** The file that each program begins with, by the name under which it becomes `<name>.mjs`. */
export type Programs = Readonly<Record<string, string>>;

/** Native code, loaded at run time from the folder beside the bundles. */
const NATIVE = "koffi";
/** What of a native package is needed at run time; the rest is its source and documentation. */
const RUNTIME_FILES = [".js", ".cjs", ".json", ".node"];
const SKIPPED = ["cnoke.cjs", "doc", "lib", "vendor"];

/** Of the client its kubeconfigs alone, without what talks to proxies: Mooring refuses those (common/kube/connection.ts). */
const ALIASES = {
  "@kubernetes/client-node": "./node_modules/@kubernetes/client-node/dist/config.js",
  ...Object.fromEntries(["hpagent", "socks", "socks-proxy-agent"].map((name) => [name, "./.ci/no-proxy.ts"])),
};

/** A folder from which the programs run without anything else of this repository. */
export interface Bundle {
  readonly folder: string;
  /** The folders of the packages that are part of it, such as `node_modules/undici`. */
  readonly packages: readonly string[];
}

/**
 * Bundles programs, those of the image unless told, into `folder`, which is emptied first. What is imported on demand stays in files of its own.
 * Names are kept, so that a stack in a log can be read.
 */
export async function bundle(folder: string, programs: Programs = PROGRAMS): Promise<Bundle> {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: programs,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    minifyWhitespace: true,
    minifySyntax: true,
    platform: "node",
    target: "node24",
    // Node.js 24 has it. What esbuild makes of it keeps the error of one turn of a loop for all that follow.
    supported: { using: true },
    format: "esm",
    // The same bundle whether tsconfig.json is there, as on a developer's machine, or not, as in the image's build.
    tsconfigRaw: "{}",
    // Packages of the older kind call `require` for what is built into Node.js.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    external: [NATIVE],
    alias: ALIASES,
    legalComments: "none",
    metafile: true,
    logLevel: "error",
  });
  const native = copyNative(folder);
  const packages = [...packagesOf(Object.keys(metafile.inputs)), ...native].toSorted();
  cpSync(join(root, ".ci/image"), folder, { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), noticeOf(root, packages));
  return { folder, packages };
}

/** Copies the native package and the build of it for this platform; returns their folders. */
function copyNative(folder: string): readonly string[] {
  const builds = readdirSync(join(root, "node_modules/@koromix")).map((name) => `node_modules/@koromix/${name}`);
  const packages = [`node_modules/${NATIVE}`, ...builds];
  for (const path of packages) {
    mkdirSync(join(folder, path), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: isNeededAtRunTime });
  }
  return packages;
}

function isNeededAtRunTime(path: string): boolean {
  // The Node.js of the image is made for glibc.
  if (SKIPPED.includes(basename(path)) || basename(path).startsWith("musl_")) return false;
  return statSync(path).isDirectory() || RUNTIME_FILES.includes(extname(path));
}

if (import.meta.main) await bundle(resolve(process.argv[2] ?? "dist"));
