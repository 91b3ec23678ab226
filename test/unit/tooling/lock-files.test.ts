import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isAllowed, packagesIn, SHIPPED_LICENCES, TOOL_LICENCES } from "../../../.ci/licences.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const textOf = (name: string): string => readFileSync(`${root}${name}`, "utf8");

/** The folders that have packages of their own. */
const FOLDERS = [
  { name: "Mooring", folder: "" },
  { name: "the mutation tests", folder: "test/mutation/" },
];

/** Exact versions that a manifest asks for, by the kind of need. */
function asked(folder: string): readonly (readonly [name: string, version: string])[] {
  const {
    dependencies = {},
    devDependencies = {},
    optionalDependencies = {},
  } = JSON.parse(textOf(`${folder}package.json`));
  return Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies });
}

describe.each(FOLDERS)("the packages of $name", ({ folder }) => {
  const packages = packagesIn(textOf(`${folder}package-lock.json`));

  it("are asked for by one exact version each", () => {
    expect(asked(folder).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it("are those that the lock file has", () => {
    const locked = new Map(packages.map(({ path, version }) => [path, version]));

    expect(asked(folder).filter(([name, version]) => locked.get(`node_modules/${name}`) !== version)).toEqual([]);
  });

  it("are each pinned by the hash of their archive, whatever registry they come from", () => {
    expect(packages.filter(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))).toEqual([]);
    expect(packages.filter(({ resolved }) => resolved !== "")).toEqual([]);
  });

  it("are under a licence that is allowed", () => {
    const refused = packages.filter(
      ({ licence, isShipped }) => !isAllowed(licence, isShipped && folder === "" ? SHIPPED_LICENCES : TOOL_LICENCES),
    );

    expect(refused).toEqual([]);
  });
});

describe("isAllowed", () => {
  it.each([
    { name: "a licence of the list", expression: "MIT", allowed: true },
    { name: "a choice with one of the list", expression: "(GPL-3.0-only OR MIT)", allowed: true },
    { name: "both of two that are on the list", expression: "MIT AND Apache-2.0", allowed: true },
    { name: "a licence that is not on the list", expression: "GPL-3.0-only", allowed: false },
    { name: "two together, of which one is not", expression: "MIT AND GPL-3.0-only", allowed: false },
    { name: "no licence", expression: "", allowed: false },
    { name: "a text that is no address", expression: "SEE LICENSE IN LICENSE.md", allowed: false },
    { name: "an exception that is not known", expression: "MIT WITH Some-exception", allowed: false },
  ])("answers $allowed for $name", ({ expression, allowed }) => {
    expect(isAllowed(expression, SHIPPED_LICENCES)).toBe(allowed);
  });
});
