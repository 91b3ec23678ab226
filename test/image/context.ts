import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The files and folders of the project that a `.dockerignore` lets through: it excludes all (`*`), then names what it keeps (`!agent`, `!cli/uninstall`). */
export function namesKept(dockerignore: string): readonly string[] {
  const lines = dockerignore.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const [first, ...kept] = lines;
  if (first !== "*" || !kept.every((line) => /^![\w.-]+(\/[\w.-]+)*$/.test(line)))
    throw new Error("the .dockerignore must exclude all with *, then name what it keeps, such as !agent");
  return kept.map((line) => line.slice(1));
}

/** The files that an image is built from, sorted; paths relative to `root`. */
export function contextFiles(root: string): readonly string[] {
  const kept = namesKept(readFileSync(join(root, ".dockerignore"), "utf8"));
  return ["Dockerfile", ".dockerignore", ...kept].flatMap((name) => filesBelow(root, name)).toSorted();
}

function filesBelow(root: string, name: string): readonly string[] {
  if (!statSync(join(root, name)).isDirectory()) return [name];
  return readdirSync(join(root, name)).flatMap((entry) => filesBelow(root, join(name, entry)));
}

/** A file as it counts for a hash: its name, and where its content is. */
export interface HashedFile {
  readonly name: string;
  readonly source: string;
}

/** Changes with any name or content; 12 hexadecimal digits. */
export function contentHash(files: readonly HashedFile[]): string {
  const hash = createHash("sha256");
  for (const { name, source } of files) {
    const digest = createHash("sha256").update(readFileSync(source)).digest("hex");
    hash.update(`${JSON.stringify(name)} ${digest}\n`);
  }
  return hash.digest("hex").slice(0, 12);
}
