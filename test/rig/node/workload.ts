import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { goArchitecture } from "../control-plane/cache.ts";
import { HarnessError } from "../process/errors.ts";
import { findProgram, systemPath } from "../process/program.ts";
import type { Entry } from "./archive.ts";
import { type Image, imageArchive } from "./image.ts";

/** The image of the container that holds a pod's namespaces. */
export const PAUSE_IMAGE = "mooring.test/pause:1";
/** The image for workloads: busybox with all its commands. */
export const WORKLOAD_IMAGE = "mooring.test/busybox:1";

const PT_INTERP = 3;

/** Writes an archive with both images to `path`, made of this machine's busybox. */
export async function writeWorkloadImages(path: string): Promise<void> {
  const busybox = findBusybox(systemPath());
  const commands = (await promisify(execFile)(busybox, ["--list"])).stdout.trim().split("\n");
  writeFileSync(path, imageArchive(workloadImages(readFileSync(busybox), commands), goArchitecture(process.arch)));
}

/** The path of a busybox that needs no libraries. Throws a HarnessError where there is none. */
export function findBusybox(path: string | undefined = process.env.PATH): string {
  const program = findProgram("busybox", path);
  if (program === undefined) throw new HarnessError("there is no program busybox: apt-get install busybox-static");
  if (needsLoader(readFileSync(program))) {
    throw new HarnessError(`${program} needs shared libraries: apt-get install busybox-static`);
  }
  return program;
}

/** Both images, with the same files: they share their layer. */
export function workloadImages(busybox: Uint8Array, commands: readonly string[]): readonly Image[] {
  const links = commands.filter((command) => command !== "busybox");
  const files: readonly Entry[] = [
    ...["bin", "dev", "etc", "proc", "root", "sys", "var"].map((path) => ({ kind: "folder", path }) as const),
    { kind: "folder", path: "tmp", mode: 0o1777 },
    { kind: "file", path: "bin/busybox", mode: 0o755, content: busybox },
    ...links.map((command) => ({ kind: "link", path: `bin/${command}`, target: "busybox" }) as const),
    text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"),
    text("etc/group", "root:x:0:\nnobody:x:65534:\n"),
  ];
  return [
    { name: WORKLOAD_IMAGE, files, command: ["/bin/sh"] },
    { name: PAUSE_IMAGE, files, command: ["/bin/sleep", "infinity"] },
  ];
}

/** Whether an ELF program asks for a loader of shared libraries (elf(5): a program header of type PT_INTERP). */
export function needsLoader(elf: Uint8Array): boolean {
  const bytes = Buffer.from(elf.buffer, elf.byteOffset, elf.byteLength);
  if (bytes.subarray(0, 4).toString("latin1") !== "\u007fELF" || bytes[4] !== 2) return true;
  const at = Number(bytes.readBigUInt64LE(32));
  const size = bytes.readUInt16LE(54);
  const count = bytes.readUInt16LE(56);
  const types = Array.from({ length: count }, (_, index) => bytes.readUInt32LE(at + index * size));
  return types.includes(PT_INTERP);
}

function text(path: string, content: string): Entry {
  return { kind: "file", path, content: Buffer.from(content) };
}
