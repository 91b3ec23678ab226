import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRotatingFolder, type FolderWatch } from "../../../../common/kube/rotating-file.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createProjectedVolume } from "../../../fakes/projected-volume.ts";

/** A watch that a test speaks for. */
function createFakeWatch() {
  const seen = { change: (): void => {}, failure: (_: unknown): void => {}, closed: 0, opened: 0 };
  const watch: FolderWatch = async (_, on) => {
    Object.assign(seen, on);
    seen.opened += 1;
    return {
      close: async () => {
        seen.closed += 1;
      },
    };
  };
  return { seen, watch };
}

function setUp(watch?: FolderWatch) {
  const scratch = mkdtempSync(join(tmpdir(), "rotating-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const volume = createProjectedVolume(join(scratch, "serviceaccount"));
  volume.write({ token: "one", "ca.crt": "ca-one" });
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const parts = { clock, logger, ...(watch === undefined ? {} : { watch }) };
  const rotating = createRotatingFolder(volume.folder, parts);
  onTestFinished(() => rotating.close());
  return { scratch, volume, clock, logger, rotating, token: rotating.file("token"), ca: rotating.file("ca.crt") };
}

describe("a rotating file", () => {
  it("is read from the disk only once in a minute as long as no change is noticed", async () => {
    const { volume, clock, token } = setUp(createFakeWatch().watch);
    const first = await token.read();
    volume.write({ token: "two", "ca.crt": "ca-two" });

    clock.pass(59_999);
    const before = await token.read();
    clock.pass(1);
    const after = await token.read();

    expect([first, before, after]).toEqual(["one", "one", "two"]);
  });

  it("is read again at once after a change of its folder, and so is every other file there", async () => {
    const { seen, watch } = createFakeWatch();
    const { volume, token, ca, rotating } = setUp(watch);
    rotating.follow();
    await Promise.all([token.read(), ca.read()]);

    volume.write({ token: "two", "ca.crt": "ca-two" });
    seen.change();

    expect([await token.read(), await ca.read()]).toEqual(["two", "ca-two"]);
  });

  it("is read again when it changed while it was being read", async () => {
    const { seen, watch } = createFakeWatch();
    const { volume, token, rotating } = setUp(watch);
    rotating.follow();

    const reading = token.read();
    seen.change();
    await reading;
    volume.write({ token: "two", "ca.crt": "ca-two" });

    expect(await token.read()).toBe("two");
  });

  it("is read from the disk at once on request", async () => {
    const { volume, token } = setUp(createFakeWatch().watch);
    await token.read();

    volume.write({ token: "two", "ca.crt": "ca-two" });

    expect([await token.read(), await token.readAnew(), await token.read()]).toEqual(["one", "two", "two"]);
  });

  it("keeps its last content when it becomes unreadable, and logs that once until it is readable again", async () => {
    const { scratch, volume, logger, token } = setUp(createFakeWatch().watch);
    await token.read();
    rmSync(join(scratch, "serviceaccount"), { recursive: true });

    const texts = [await token.readAnew(), await token.readAnew()];
    createProjectedVolume(volume.folder).write({ token: "two" });
    texts.push(await token.readAnew());

    expect(texts).toEqual(["one", "one", "two"]);
    expect(logger.messages("warn")).toEqual(["rotated file cannot be read now"]);
  });

  it("fails as an operation when it could never be read, and names the file", async () => {
    const { rotating } = setUp(createFakeWatch().watch);

    const missing = rotating.file("missing").read();

    await expect(missing).rejects.toMatchObject({
      code: "kubeconfig-invalid",
      message: expect.stringContaining("cannot read missing"),
    });
  });

  it.each([
    {
      name: "the watch cannot begin",
      watch: (async () => {
        throw new Error("no inotify here");
      }) satisfies FolderWatch,
    },
    {
      name: "the watch breaks, however often",
      watch: (async (_, { failure }) => {
        failure(new Error("no inotify here"));
        failure(new Error("still none"));
        return { close: async () => {} };
      }) satisfies FolderWatch,
    },
  ])("is read every minute when $name, which is logged once", async ({ watch }) => {
    const { volume, clock, logger, token, rotating } = setUp(watch);
    rotating.follow();
    await eventually(() => logger.lines.length > 0);
    await token.read();

    volume.write({ token: "two", "ca.crt": "ca-two" });
    clock.pass(60_000);

    expect(await token.read()).toBe("two");
    expect(logger.lines).toMatchObject([
      {
        level: "warn",
        message: "rotated files cannot be watched, reading them by time",
        fields: { err: "no inotify here", everyMs: 60_000 },
      },
    ]);
  });

  it("is watched once, however often that is requested, and no longer when it is closed", async () => {
    const { seen, watch } = createFakeWatch();
    const { rotating } = setUp(watch);
    rotating.follow();
    rotating.follow();

    await rotating.close();

    expect([seen.opened, seen.closed]).toEqual([1, 1]);
  });
});

describe("the watch of a projected volume", () => {
  it("notices each time that the kubelet replaces the files, although the clock stands still", async () => {
    const { volume, token, ca, logger, rotating } = setUp();
    rotating.follow();
    const texts = [await token.read()];

    for (const version of ["two", "three", "four"]) {
      volume.write({ token: version, "ca.crt": `ca-${version}` });
      let text = "";
      await eventually(() => {
        void token.read().then((now) => {
          text = now;
        });
        return text === version;
      });
      texts.push(text);
    }

    expect(texts).toEqual(["one", "two", "three", "four"]);
    expect(await ca.read()).toBe("ca-four");
    expect(logger.lines).toEqual([]);
  });
});
