import { expect, it } from "vitest";
import { spawnDemo } from "../demo/spawned.ts";

it("the demo's story holds from its first step to its last, and leaves nothing behind", async () => {
  using demo = spawnDemo([]);

  const code = await demo.ended;

  expect(demo.stderr()).toBe("");
  expect(demo.stdout()).toContain("All steps hold");
  expect(code).toBe(0);
  expect(demo.left()).toEqual([]);
});

it("the demo cleans up after Ctrl-C", async () => {
  using demo = spawnDemo([]);
  await demo.printed("Mooring");

  demo.child.kill("SIGINT");

  expect(await demo.ended).toBe(130);
  expect(demo.left()).toEqual([]);
});

it("the demo refuses a flag that it does not know", async () => {
  using demo = spawnDemo(["--kepp"]);

  const code = await demo.ended;

  expect(code).toBe(1);
  expect(demo.stderr()).toContain("--kepp");
});

it("the demo on real nodes names what is missing on a machine that cannot run them", async () => {
  // As root the programs are what is missing, for others root itself.
  using demo = spawnDemo(["--node"], { PATH: "/nowhere" });

  const code = await demo.ended;

  expect(demo.stderr()).toContain("this machine cannot run nodes; what is missing:\n  - ");
  expect(demo.stderr()).not.toContain("    at ");
  expect(code).toBe(1);
  expect(demo.left()).toEqual([]);
});
