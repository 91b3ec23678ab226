import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { object, optional, parse, string } from "valibot";

const Manifest = object({ name: string(), version: string(), license: optional(string()) });

/** The folders of the packages that files belong to, sorted: `node_modules/a/node_modules/b/c.js` is of `node_modules/a/node_modules/b`. */
export function packagesOf(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  return [...new Set(folders)].toSorted();
}

/** Name, version and licence of each package, with the text of the licence where the package brings one. Throws where none is named. */
export function noticeOf(root: string, packages: readonly string[]): string {
  const notices = packages.map((path) => {
    const folder = join(root, path);
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const { name, version, license } = parse(Manifest, manifest);
    const texts = readdirSync(folder)
      .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      .toSorted()
      .map((file) => readFileSync(join(folder, file), "utf8").trim());
    if (license === undefined) throw new Error(`${name} ${version} does not say under which licence it is`);
    return [`${name} ${version}`, `Licence: ${license}`, ...texts].join("\n\n");
  });
  const head =
    "Mooring contains the following packages. Node.js itself comes with the base image, and so does its licence.";
  return `${[head, ...notices].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
