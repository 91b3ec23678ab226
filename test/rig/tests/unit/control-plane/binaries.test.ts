import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findBinaries } from "../../../control-plane/binaries.ts";
import { goArchitecture, programFolder } from "../../../control-plane/cache.ts";
import { scratchFolder, scratchOwner } from "../process/scratch.ts";
import { serve, sha256 } from "./release-site.ts";

const BIN = `/v1.36.3/bin/linux/${goArchitecture(process.arch)}`;

function putProgram(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** A cache in a folder of its own, no downloads and no Go. */
function bare() {
  const home = scratchFolder();
  const cache = join(home, "caches", "mooring");
  const env = {
    XDG_CACHE_HOME: join(home, "caches"),
    MOORING_KUBERNETES_DOWNLOADS: "",
    MOORING_ETCD_DOWNLOADS: "",
    PATH: join(home, "programs"),
  };
  return { env, cache, programs: env.PATH, assets: join(home, "assets") };
}

/** A Go that compiles nothing and yields a kubectl with the content `built`. */
function putGo(folder: string, version = "go1.26.8"): void {
  const build = 'while [ "$1" != -o ]; do shift; done; printf built > "$2/kubectl"; chmod +x "$2/kubectl"';
  putProgram(folder, "go", `case "$1" in env) echo ${version}; echo /tmp;; list) echo true;; build) ${build};; esac`);
}

describe("findBinaries", () => {
  it("takes KUBEBUILDER_ASSETS first", async () => {
    const { owner, said } = await scratchOwner();
    const { env, assets, cache } = bare();
    putProgram(assets, "kubectl", "echo Client Version: v1.36.1");
    putProgram(programFolder(cache, "kubernetes"), "kubectl", "");

    const path = await findBinaries(owner, ["kubectl"], { ...env, KUBEBUILDER_ASSETS: assets });

    expect(path("kubectl")).toBe(join(assets, "kubectl"));
    expect(said).toEqual([]);
  });

  it("uses the cache instead of KUBEBUILDER_ASSETS, with the reason, when that lacks a program", async () => {
    const { owner, said } = await scratchOwner();
    const { env, assets, cache } = bare();
    putProgram(assets, "kubectl", "echo Client Version: v1.36.1");
    for (const name of ["kubectl", "kubelet"]) putProgram(programFolder(cache, "kubernetes"), name, "");

    const path = await findBinaries(owner, ["kubectl", "kubelet"], { ...env, KUBEBUILDER_ASSETS: assets });

    expect(path("kubectl")).toBe(join(programFolder(cache, "kubernetes"), "kubectl"));
    expect(said).toEqual([`KUBEBUILDER_ASSETS is passed over: ${assets} has no kubelet`]);
  });

  it("downloads only what the cache lacks", async () => {
    const { owner } = await scratchOwner();
    const { env, cache } = bare();
    putProgram(programFolder(cache, "kubernetes"), "kubectl", "");
    const site = await serve({ [`${BIN}/kubelet`]: { body: "k" }, [`${BIN}/kubelet.sha256`]: { body: sha256("k") } });

    const path = await findBinaries(owner, ["kubectl", "kubelet"], { ...env, MOORING_KUBERNETES_DOWNLOADS: site.url });

    expect(site.asked).toEqual([`${BIN}/kubelet.sha256`, `${BIN}/kubelet`]);
    expect(readFileSync(path("kubelet"), "utf8")).toBe("k");
    expect(readdirSync(cache)).toEqual(["bin"]);
  });

  it("builds what could not be downloaded, and reports that", async () => {
    const { owner, said } = await scratchOwner();
    const { env, programs } = bare();
    putGo(programs);
    const site = await serve({
      [`${BIN}/kubectl`]: { body: "bad" },
      [`${BIN}/kubectl.sha256`]: { body: sha256("good") },
    });

    const path = await findBinaries(owner, ["kubectl"], { ...env, MOORING_KUBERNETES_DOWNLOADS: site.url });

    expect(readFileSync(path("kubectl"), "utf8")).toBe("built");
    expect(said).toEqual([
      expect.stringMatching(/^no download from http:.*\/kubectl is refused: its SHA-256 is/),
      expect.stringMatching(/^building kubectl \(Kubernetes 1\.36\.3\) with go1\.26\.8/),
    ]);
  });

  it.each([
    { name: "there is no Go", go: undefined, reason: "  - go build: there is no program go in the path" },
    { name: "Go is too old", go: "go1.25.1", reason: "is go1.25.1, 1.26 or newer is needed" },
  ])("lists all attempts when $name", async ({ go, reason }) => {
    const { owner } = await scratchOwner();
    const { env, cache, programs } = bare();
    if (go !== undefined) putGo(programs, go);

    const finding = findBinaries(owner, ["kubectl", "etcd"], env);

    await expect(finding).rejects.toThrow(
      [
        "cannot get kubectl, etcd (Kubernetes 1.36.3, etcd 3.6.16). Tried:",
        "  - KUBEBUILDER_ASSETS: not set",
        `  - cache ${cache}: has no kubectl, etcd`,
        "  - download of kubectl: turned off, or nothing is published",
        "  - download of etcd: turned off, or nothing is published",
      ].join("\n"),
    );
    await expect(finding).rejects.toThrow(reason);
  });

  it("shows Go's last lines when the build fails", async () => {
    const { owner } = await scratchOwner();
    const { env, programs } = bare();
    putProgram(
      programs,
      "go",
      'if [ "$1" = env ]; then echo go1.26.8; echo /tmp; else echo "no space left" >&2; exit 1; fi',
    );

    const finding = findBinaries(owner, ["kubectl"], env);

    await expect(finding).rejects.toThrow("  - go build: go list ended with code 1:\n    no space left\n");
  });
});
