import { execFile } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const OUTPUT_LIMIT = 64 * 1024 * 1024;

/** Somebody at a terminal who does what a page says. */
export interface Reader {
  /** Runs lines of shell to their end and answers what they printed. Throws, with what they said, when one of them fails. */
  readonly follow: (script: string) => Promise<string>;
}

/** What a reader has. */
export interface Belongings {
  /** Where they work: the project, or a folder with what they need of it. */
  readonly folder: string;
  /** A folder of theirs: their home, and what they can call. */
  readonly home: string;
  readonly kubeconfig: string;
  /** What they can call besides the system's programs: lines of shell by name, which get the arguments as `$@`. */
  readonly programs: Readonly<Record<string, string>>;
}

/** Makes a reader. The Node.js that runs this is theirs, too. */
export async function openReader({ folder, home, kubeconfig, programs }: Belongings): Promise<Reader> {
  const bin = join(home, "bin");
  await mkdir(bin, { recursive: true });
  for (const [name, lines] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${lines}\n`);
    await chmod(join(bin, name), 0o755);
  }
  const path = [bin, join(PROJECT, "node_modules/.bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(":");
  const options = { cwd: folder, env: { PATH: path, HOME: home, KUBECONFIG: kubeconfig }, maxBuffer: OUTPUT_LIMIT };
  return {
    follow: async (script) => (await promisify(execFile)("bash", ["-euc", script], options)).stdout,
  };
}
