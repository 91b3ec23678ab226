import { Readable } from "node:stream";
import { findHolder } from "../../../provisioner/keeper/core/holders.ts";
import { identify } from "../../../provisioner/keeper/core/identity.ts";
import { attachedLoops, candidates, orphansOf, stackedOn } from "../../../provisioner/keeper/core/loops.ts";
import { fileOf, filesOf, imagesIn, isEmpty } from "../../../provisioner/keeper/core/names.ts";
import { createLineReader } from "../../../provisioner/keeper/line-reader.ts";
import { decodePoolFile } from "../../../provisioner/keeper/pool-folder.ts";
import { decodeReply, decodeRequest, type KeeperVerb, MAX_REQUEST_BYTES } from "../../../provisioner/protocol.ts";
import { type FuzzTarget, inputOf, promise, utf8Of } from "../target.ts";

const VOLUME = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10";
const POOL_ID = "0b9f6a3e-52c4-4d18-8a77-6f2f0f1b9c01";
const PLACE = `"volume":"${VOLUME}","pool":"fast","poolId":"${POOL_ID}"`;
const IMAGE = `{"volume":"${VOLUME}","pool":"fast","bytes":1048576,"state":"made","device":"/dev/loop0"}`;
const VERBS: readonly KeeperVerb[] = ["pools", "volumes", "begin", "make", "publish", "attach", "grow", "remove"];
const MOST_REPLIES = 8;
const never = new AbortController().signal;

/** All bytes of one connection, which arrive in pieces. */
export const keeperRequests: FuzzTarget = {
  name: "keeper-requests",
  about: "what comes over the keeper's socket, and what the provisioner gets back",
  seeds: [
    `{"verb":"pools"}\n{"verb":"volumes"}\n{"verb":"begin","pool":"fast"}\n`,
    `{"verb":"make",${PLACE},"bytes":1048576}\n{"verb":"grow",${PLACE},"bytes":2097152}\n`,
    `{"verb":"publish",${PLACE}}\n{"verb":"attach",${PLACE}}\n{"verb":"remove",${PLACE}}\n`,
    `{"ok":true,"image":${IMAGE}}\n{"ok":true,"images":[${IMAGE}]}\n{"ok":true,"removed":true}\n`,
    `{"ok":true,"pools":[{"name":"fast","state":"ready","id":"${POOL_ID}","totalBytes":1,"freeBytes":0}]}\n`,
    `{"ok":false,"code":"in-use","message":"held by the mount /mnt"}\n`,
  ].map(inputOf),
  words: [
    "../",
    "/",
    "\0",
    "\n",
    "pvc-",
    "__proto__",
    "constructor",
    "1e400",
    "-0",
    "9007199254740993",
    "\\u002f",
    "{}",
  ],
  take: async (input) => {
    const bytes = Buffer.from(input, "latin1");
    const pieces = [bytes.subarray(0, 7), bytes.subarray(7, 1_000), bytes.subarray(1_000)].filter(
      ({ length }) => length > 0,
    );
    const lines = createLineReader(Readable.from(pieces), MAX_REQUEST_BYTES);
    const read: string[] = [];
    for (let line = await lines.next(never); line !== undefined; line = await lines.next(never)) {
      if (line === "too-long") break;
      promise(line.length < MAX_REQUEST_BYTES, "no line is longer than it may be");
      read.push(line.toString("latin1"));
      takeRequest(line.toString("utf8"));
    }
    // Each reply is checked against eight requests: in an input of empty lines that would take most of the time.
    for (const line of read.slice(0, MOST_REPLIES)) takeReply(utf8Of(line));
    promise(input.startsWith(read.map((line) => `${line}\n`).join("")), "what is read is what was sent, in its order");
  },
};

function takeRequest(line: string): void {
  const request = decodeRequest(line);
  if ("volume" in request) promise(/^pvc-[0-9a-f-]{36}$/.test(request.volume), "a volume is no path");
  if ("pool" in request) promise(/^[a-z0-9-]{1,32}$/.test(request.pool), "a pool is no path");
  if ("bytes" in request)
    promise(request.bytes >= 2 ** 20 && request.bytes <= 2 ** 46, "a size is one that can be made");
}

function takeReply(line: string): void {
  for (const verb of VERBS) {
    const reply = decodeReply(verb, line);
    promise(reply === undefined || typeof reply.ok === "boolean", "a reply says whether it was done");
  }
}

const OURS = { device: "/dev/loop7", volume: VOLUME };
const HOLD = "40 1 7:7 / /mnt rw - ext4 /dev/loop7 rw\n";

/** File names, kernel paths and the text of a pool's file, which others may have written. */
export const keeperFiles: FuzzTarget = {
  name: "keeper-files",
  about: "the files of a pool, the loop devices and the mount table of a node",
  seeds: [
    `pool.json\n${VOLUME}.img\n${VOLUME}.partial\nlost+found\n`,
    `{"id":"${POOL_ID}"}`,
    `/pools/fast/${VOLUME}.img\n/dev/loop7\n/kubelet/volumeDevices/${VOLUME}/u-1\n/${VOLUME}.made (deleted)\n`,
    `1 0 8:1 / / rw - ext4 /dev/sda1 rw\n41 1 0:6 /loop7 /b rw - devtmpfs dev rw\n`,
  ],
  words: [HOLD, VOLUME, ".img", ".made", ".partial", " (deleted)", "//deleted", "/loop7", "\\040", "\n", "\0"],
  take: (input) => {
    const names = input.split("\n");
    for (const image of imagesIn(names)) {
      promise(names.includes(fileOf(image)), "an image is a file that is there");
      promise(!isEmpty(names), "a folder with an image is not empty");
    }
    const id = decodePoolFile(utf8Of(input));
    identify({ kind: "folder", filesystem: 0xef53, names, id, device: "7:1", mountedDevice: undefined });
    takeLoops(names);
    const finding = findHolder(input + HOLD, { number: "7:7", name: "loop7" }, undefined);
    const isWhole = input === "" || input.endsWith("\n");
    promise(!isWhole || finding.kind === "held", "no line hides the one that shows a mount");
  },
};

function takeLoops(files: readonly string[]): void {
  const loops = attachedLoops(files.map((backingFile, at) => ({ name: `loop${at}`, number: `7:${at}`, backingFile })));
  const shown = candidates(loops, filesOf(VOLUME));
  promise(
    orphansOf(loops, filesOf(VOLUME)).every((loop) => shown.includes(loop)),
    "a deleted file has the volume's name",
  );
  promise(
    stackedOn(loops, OURS).every((loop) => !shown.includes(loop) || loop.backingFile.includes(`/${VOLUME}/`)),
    "the image's own device does not stand on itself",
  );
}
