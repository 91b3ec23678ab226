import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../../.ci/base-image.mjs", import.meta.url));
const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("the image's build", () => {
  it.each([
    { name: "takes a base with a digest", env: { NODE_IMAGE: `node:26-trixie-slim@${DIGEST}` }, code: 0 },
    { name: "refuses a base with a tag alone", env: { NODE_IMAGE: "node:26-trixie-slim" }, code: 1 },
    { name: "refuses a digest that is cut off", env: { NODE_IMAGE: `node@${DIGEST.slice(0, -1)}` }, code: 1 },
    { name: "refuses a build without a base", env: {}, code: 1 },
    { name: "takes any base in tests", env: { NODE_IMAGE: "mooring.test/node", UNPINNED_BASE: "allowed" }, code: 0 },
    { name: "takes no other word for that", env: { NODE_IMAGE: "node", UNPINNED_BASE: "no" }, code: 1 },
  ])("$name", ({ env, code }) => {
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM], { env, encoding: "utf8" });

    expect(status).toBe(code);
    expect(stderr.includes("has no digest")).toBe(code === 1);
  });
});
