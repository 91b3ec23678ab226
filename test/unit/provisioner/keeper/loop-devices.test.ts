import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LoopConfig } from "../../../../provisioner/keeper/core/loop-structs.ts";
import { createLoopDevices } from "../../../../provisioner/keeper/loop-devices.ts";
import { createNodeActions } from "../../../../provisioner/keeper/node-actions.ts";
import { NODE_FILES } from "../../../../provisioner/keeper/node-files.ts";
import { SystemError } from "../../../../provisioner/keeper/system-error.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const VOLUME = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10";
const [EBUSY, EINVAL, EIO] = [16, 22, 5];

/** Files in the place of the kernel's: three free loop devices, of which `absent` has no node, and an image. */
function createKernelFiles({ absent = -1, dio = "1" } = {}) {
  const root = mkdtempSync(join(tmpdir(), "loops-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("dev/loop-control", "");
  for (const number of [0, 1, 2]) {
    if (number !== absent) write(`dev/loop${number}`, "");
    write(`sys/block/loop${number}/loop/dio`, `${dio}\n`);
    write(`sys/block/loop${number}/queue/discard_max_bytes`, "4194304\n");
  }
  write(`pool/${VOLUME}.made`, "image");
  const discards = (number: number): string =>
    readFileSync(join(root, `sys/block/loop${number}/queue/discard_max_bytes`), "utf8").slice(0, 1);
  return { root, discards };
}

/** Attaches the image where the kernel hands out its devices in turn and refuses to configure them by these errors. */
async function attach(files: ReturnType<typeof createKernelFiles>, refusals: readonly number[]) {
  const { root } = files;
  const logger = createFakeLogger();
  const tried: LoopConfig[] = [];
  let asked = -1;
  const kernel = {
    allocate: () => Promise.resolve(),
    ioctl: () => {
      asked += 1;
      return Promise.resolve(asked % 3);
    },
  };
  const actions = {
    ...createNodeActions(kernel),
    configureLoop: (_: number, config: LoopConfig): Promise<void> => {
      const errno = refusals[tried.length];
      tried.push(config);
      return errno ? Promise.reject(new SystemError("ioctl", errno)) : Promise.resolve();
    },
  };
  const loops = createLoopDevices({
    kernel,
    files: NODE_FILES,
    actions,
    logger,
    sys: join(root, "sys"),
    dev: join(root, "dev"),
  });
  const image = { volume: VOLUME, path: join(root, `pool/${VOLUME}.made`) };
  const device = await loops.attach(image).catch((error: unknown) => error);
  return { device, tried: tried.map(({ directIo }) => directIo), logger, again: () => loops.attach(image) };
}

describe("attaching an image", () => {
  it("takes the first free device, with direct I/O, and forbids discards", async () => {
    const files = createKernelFiles();

    const { device, tried, logger } = await attach(files, []);

    expect([device, tried, logger.messages()]).toEqual([join(files.root, "dev/loop0"), [true], []]);
    expect([files.discards(0), files.discards(1)]).toEqual(["0", "4"]);
  });

  it.each([
    { name: "another program took", absent: -1, refusals: [EBUSY, EBUSY], tried: [true, true, true], number: 2 },
    { name: "was removed", absent: 0, refusals: [], tried: [true], number: 1 },
  ])("tries the next device where one $name", async ({ absent, refusals, tried, number }) => {
    const files = createKernelFiles({ absent });

    const result = await attach(files, refusals);

    expect([result.device, result.tried]).toEqual([join(files.root, `dev/loop${number}`), tried]);
  });

  it("attaches without direct I/O where the kernel refuses it, and logs that once", async () => {
    const { device, tried, logger, again } = await attach(createKernelFiles(), [EINVAL, 0, EINVAL, 0]);

    await again();

    expect([device, tried]).toEqual([expect.stringContaining("loop0"), [true, false]]);
    expect(logger.messages("warn")).toEqual(["kernel refuses direct I/O, images go through the page cache"]);
  });

  it("logs that as well where the kernel accepts the flag and ignores it", async () => {
    const { logger } = await attach(createKernelFiles({ dio: "0" }), []);

    expect(logger.messages("warn")).toEqual(["kernel refuses direct I/O, images go through the page cache"]);
  });

  it("attaches although discards cannot be forbidden, and logs that", async () => {
    const files = createKernelFiles();
    const setting = join(files.root, "sys/block/loop0/queue/discard_max_bytes");
    rmSync(setting);

    const { device, logger } = await attach(files, []);

    expect(device).toBe(join(files.root, "dev/loop0"));
    expect(logger.messages("warn")).toEqual(["cannot forbid discards, a volume can give its blocks back"]);
  });

  it.each([
    { name: "an error that another device would not mend", refusals: [EIO], code: "EIO" },
    { name: "devices that are always taken", refusals: Array.from({ length: 99 }, () => EBUSY), code: "EBUSY" },
  ])("fails for $name", async ({ refusals, code }) => {
    const { device } = await attach(createKernelFiles(), refusals);

    expect(device).toMatchObject({ name: "SystemError", code });
  });
});
