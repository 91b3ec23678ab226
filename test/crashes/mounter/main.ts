// Mounts and unmounts in its own mount namespace, and returns the times: node .ci/launch.mjs test/crashes/mounter/main.ts <socket>. A
// program for each umount would add milliseconds around the system call.
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import koffi from "koffi";
import { parse } from "valibot";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { type MountAnswer, type MountRequest, mountRequest } from "./calls.ts";

/** `<linux/mount.h>` */
const MS_BIND = 4096;

const libc = koffi.load(null);
const mount = libc.func(
  "int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)",
);
const umount = libc.func("int umount2(const char *target, int flags)");
const clock = createSystemClock();

function answerTo(request: MountRequest): MountAnswer {
  if (request.call === "bind")
    for (const folder of [request.source, request.target]) mkdirSync(folder, { recursive: true });
  const fromMs = clock.wallMs();
  const result: number =
    request.call === "bind" ? mount(request.source, request.target, null, MS_BIND, null) : umount(request.target, 0);
  // The clock shows completed milliseconds.
  const toMs = clock.wallMs() + 1;
  return { id: request.id, fromMs, toMs, errno: result === 0 ? 0 : koffi.errno() };
}

const server = createServer((connection) => {
  createInterface({ input: connection }).on("line", (line) => {
    const answer = answerTo(parse(mountRequest, JSON.parse(line)));
    connection.write(`${JSON.stringify(answer)}\n`);
  });
});
server.listen(process.argv[2]);
