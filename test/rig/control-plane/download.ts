import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { EnvHttpProxyAgent, fetch, type Response } from "undici";
import { HarnessError } from "../process/errors.ts";
import { fill } from "./cache.ts";
import type { ComponentName } from "./components.ts";
import { type ReleaseFile, releaseOf } from "./releases.ts";

/** Limits of one download, in ms: without a network it must be given up within seconds. */
export interface DownloadLimits {
  readonly connectMs: number;
  /** Between two pieces of an answer. */
  readonly idleMs: number;
}
export const DOWNLOAD_LIMITS: DownloadLimits = { connectMs: 4_000, idleMs: 20_000 };

/** How downloads of one module are made. */
export interface Downloads {
  /** The site's base URL. */
  readonly base: string;
  readonly limits: DownloadLimits;
  readonly signal: AbortSignal;
  /** Told what is downloaded and how far: bytes, and of how many if the server says so. */
  readonly onBytes: (name: string, bytes: number, total: number | undefined) => void;
}

/**
 * Downloads programs of one module's official release into `folder`. Throws when a file cannot be had or its checksum is
 * wrong; programs that were complete by then stay, nothing unfinished does.
 */
export async function downloadPrograms(
  downloads: Downloads,
  names: readonly ComponentName[],
  folder: string,
): Promise<void> {
  await fill(folder, async (unfinished, keep) => {
    const saved = new Set<string>();
    for (const name of names) {
      const { file, member } = releaseOf(name, downloads.base);
      const path = join(unfinished, file.name);
      // Several programs may come in one archive.
      if (!saved.has(file.url)) await downloadFile(downloads, file, path);
      saved.add(file.url);
      if (member !== undefined) await unpack(path, member, unfinished);
      await chmod(join(unfinished, name), 0o755);
      keep(name, name);
    }
  });
}

/** The SHA-256 of `name` in the text of a checksum file: the sum alone, or lines of sum and name. */
export function parseChecksum(text: string, name: string): string | undefined {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+\*?/));
  const [sum] =
    lines.find((line) => line[1] === name) ?? (lines.length === 1 && lines[0]?.length === 1 ? lines[0] : []);
  return sum !== undefined && /^[0-9a-f]{64}$/i.test(sum) ? sum.toLowerCase() : undefined;
}

/** Downloads one file to `path`. Throws a HarnessError when its checksum is not the published one; `path` is then unusable. */
export async function downloadFile(downloads: Downloads, file: ReleaseFile, path: string): Promise<void> {
  const { connectMs, idleMs } = downloads.limits;
  const agent = new EnvHttpProxyAgent({ connect: { timeout: connectMs }, headersTimeout: idleMs, bodyTimeout: idleMs });
  try {
    const get = (url: string): Promise<Response> => fetch(url, { dispatcher: agent, signal: downloads.signal });
    const checksum = parseChecksum(await (await found(get(file.checksumUrl))).text(), file.name);
    if (checksum === undefined) throw new HarnessError(`${file.checksumUrl} has no checksum of ${file.name}`);
    const actual = await save(await found(get(file.url)), path, (bytes, total) =>
      downloads.onBytes(file.name, bytes, total),
    );
    if (actual === checksum) return;
    throw new HarnessError(`${file.url} is refused: its SHA-256 is ${actual}, published is ${checksum}`);
  } finally {
    await agent.destroy();
  }
}

async function found(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (response.ok) return response;
  throw new HarnessError(`${response.url}: ${response.status} ${response.statusText}`);
}

/** Writes an answer's body to `path`; returns its SHA-256. */
async function save(
  response: Response,
  path: string,
  onBytes: (bytes: number, total: number | undefined) => void,
): Promise<string> {
  const hash = createHash("sha256");
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response.body ?? []) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      onBytes(bytes, Number.isNaN(length) ? undefined : length);
      yield chunk;
    }
  }
  await pipeline(Readable.from(counted()), createWriteStream(path));
  return hash.digest("hex");
}

/** Takes the member `<one folder>/<program>`, or the program alone, out of an archive. */
async function unpack(archive: string, member: string, folder: string): Promise<void> {
  const strip = member.split("/").length - 1;
  await promisify(execFile)("tar", ["-xzf", archive, "-C", folder, `--strip-components=${strip}`, member]);
}
