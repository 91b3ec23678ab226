import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseVersion, whyPassedOver, wrongVersions } from "../../../control-plane/assets.ts";
import { scratchFolder } from "../process/scratch.ts";

describe("parseVersion", () => {
  it.each([
    { name: "etcd prints a title before it", text: "etcd Version: 3.6.16\nGit SHA: abc\n", version: "3.6.16" },
    { name: "an API server prints a v before it", text: "Kubernetes v1.36.3\n", version: "1.36.3" },
    {
      name: "kubectl prints its own version first",
      text: "Client Version: v1.36.3\nKustomize Version: v5.8.1\n",
      version: "1.36.3",
    },
    { name: "a pre-release is known by its numbers", text: "Kubernetes v1.36.0-rc.1\n", version: "1.36.0" },
    { name: "other text has none", text: "unknown flag: --version", version: undefined },
  ])("$name", ({ text, version }) => {
    expect(parseVersion(text)).toBe(version);
  });
});

describe("wrongVersions", () => {
  it.each([
    { name: "the pinned releases fit", versions: { etcd: "3.6.16", "kube-apiserver": "1.36.3" }, reason: undefined },
    {
      name: "another patch of the release fits",
      versions: { etcd: "3.6.1", "kube-apiserver": "1.36.0" },
      reason: undefined,
    },
    {
      name: "an older release does not",
      versions: { "kube-apiserver": "1.35.9" },
      reason: "kube-apiserver is 1.35.9 and not 1.36.x",
    },
    {
      name: "a release that only begins alike does not",
      versions: { etcd: "3.60.1" },
      reason: "etcd is 3.60.1 and not 3.6.x",
    },
    {
      name: "all that do not fit are named",
      versions: { etcd: "3.4.0", kubectl: "1.30.0" },
      reason: "etcd is 3.4.0 and not 3.6.x, kubectl is 1.30.0 and not 1.36.x",
    },
    {
      name: "a version that cannot be had does not fit",
      versions: { etcd: undefined },
      reason: "etcd is of an unknown version and not 3.6.x",
    },
  ])("$name", ({ versions, reason }) => {
    const names = ["etcd", "kube-apiserver", "kubectl"] as const;
    const known = names
      .filter((name) => name in versions)
      .map((name) => [name, new Map(Object.entries(versions)).get(name)] as const);

    expect(wrongVersions(new Map(known))).toBe(reason);
  });
});

describe("whyPassedOver", () => {
  function assets(programs: Readonly<Record<string, string>>): string {
    const folder = scratchFolder();
    for (const [name, says] of Object.entries(programs)) {
      writeFileSync(join(folder, name), `#!/bin/sh\necho '${says}'\n`);
      chmodSync(join(folder, name), 0o755);
    }
    return folder;
  }

  it("takes a folder that has all programs in the right release", async () => {
    const folder = assets({ etcd: "etcd Version: 3.6.16", "kube-apiserver": "Kubernetes v1.36.3" });

    expect(await whyPassedOver(folder, ["etcd", "kube-apiserver"])).toBeUndefined();
  });

  it("names the programs that the folder lacks", async () => {
    const folder = assets({ etcd: "etcd Version: 3.6.16" });

    const reason = await whyPassedOver(folder, ["etcd", "kube-apiserver", "kubectl"]);

    expect(reason).toBe(`${folder} has no kube-apiserver, kubectl`);
  });

  it("names the program of another release", async () => {
    const folder = assets({ etcd: "etcd Version: 3.4.30" });

    expect(await whyPassedOver(folder, ["etcd"])).toBe("etcd is 3.4.30 and not 3.6.x");
  });

  it("reports an unknown version for a program that does not run", async () => {
    const folder = assets({ etcd: "" });
    writeFileSync(join(folder, "etcd"), "#!/no/such/interpreter\n");

    expect(await whyPassedOver(folder, ["etcd"])).toBe("etcd is of an unknown version and not 3.6.x");
  });
});
