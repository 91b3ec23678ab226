import { execFile } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { systemPath } from "../rig/process/program.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const OUTPUT_LIMIT = 64 * 1024 * 1024;
const LOOK_LIMIT_MS = 240_000;

/** Somebody at a terminal who does what a page says. */
export interface Reader {
  /** Runs lines of shell to their end and answers what they printed. Throws, with what they said, when one of them fails. */
  readonly follow: (script: string) => Promise<string>;
  /** Runs all lines whatever becomes of each, ends what goes on in the background, and answers what was printed. Throws after a minute. */
  readonly look: (script: string) => Promise<Seen>;
}

/** What commands printed. */
export interface Seen {
  readonly stdout: string;
  readonly stderr: string;
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
  const path = [bin, join(PROJECT, "node_modules/.bin"), dirname(process.execPath), systemPath()].join(delimiter);
  const options = { cwd: folder, env: { PATH: path, HOME: home, KUBECONFIG: kubeconfig }, maxBuffer: OUTPUT_LIMIT };
  const bash = (flags: string, script: string, timeout = 0): Promise<Seen> =>
    promisify(execFile)("bash", ["--norc", flags, script], { ...options, timeout });
  return {
    follow: async (script) => (await bash("-euc", script)).stdout,
    look: (script) => bash("-uc", `trap 'kill $(jobs -p) 2> /dev/null; exit 0' EXIT\n${script}`, LOOK_LIMIT_MS),
  };
}
