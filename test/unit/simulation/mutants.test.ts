import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { unknownMutants } from "../../simulation/mutants.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** In a folder below a repository git would take a patch to be for that one, and do nothing. */
const OPTIONS = { cwd: ROOT, env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(ROOT) } };
const MUTANTS = "test/simulation/mutants";

describe("a deliberately wrong variant", () => {
  it.each(readdirSync(`${ROOT}/${MUTANTS}`).filter((name) => name.endsWith(".patch")))(
    "still fits the product: %s",
    async (name) => {
      await expect(run("git", ["apply", "--check", `${MUTANTS}/${name}`], OPTIONS)).resolves.toMatchObject({
        stderr: "",
      });
    },
  );

  it("is tried by its own name alone: a name that none has would be none that survives", async () => {
    expect(await unknownMutants(["left-boot-tells", "left-boot"])).toEqual(["left-boot"]);
  });
});
