import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSystemRandom } from "../../../../../common/runtime/random.ts";
import { goArchitecture } from "../../../control-plane/cache.ts";
import { type Downloads, downloadPrograms, parseChecksum } from "../../../control-plane/download.ts";
import { freePort } from "../../../control-plane/ports.ts";
import { scratchFolder } from "../process/scratch.ts";
import { type Answer, serve, sha256 } from "./release-site.ts";

const SUM = "a".repeat(64);
const ARCH = goArchitecture(process.arch);
const BIN = `/v1.36.3/bin/linux/${ARCH}`;
const ETCD = `etcd-v3.6.16-linux-${ARCH}`;

describe("parseChecksum", () => {
  it.each([
    { name: "a sum alone is the file's", text: `${SUM}\n`, sum: SUM },
    { name: "a sum without a line end is the file's", text: SUM, sum: SUM },
    { name: "the line of the file counts", text: `${"b".repeat(64)}  other\n${SUM}  kubectl\n`, sum: SUM },
    { name: "a mark for binary mode is no part of the name", text: `${SUM} *kubectl\n`, sum: SUM },
    { name: "capital letters are the same sum", text: SUM.toUpperCase(), sum: SUM },
    { name: "a list without the file has none", text: `${SUM}  other\n`, sum: undefined },
    { name: "a page of another kind has none", text: "<html>moved</html>", sum: undefined },
    { name: "a sum that is cut short is none", text: SUM.slice(1), sum: undefined },
    { name: "an empty file has none", text: "", sum: undefined },
  ])("$name", ({ text, sum }) => {
    expect(parseChecksum(text, "kubectl")).toBe(sum);
  });
});

function downloads(base: string): Downloads {
  const limits = { connectMs: 1_000, idleMs: 1_000 };
  return { base, limits, signal: new AbortController().signal, onBytes: () => {} };
}

function target(): string {
  return join(scratchFolder(), "bin", "kubernetes-key");
}

function program(name: string, body: string): Readonly<Record<string, Answer>> {
  return { [`${BIN}/${name}`]: { body }, [`${BIN}/${name}.sha256`]: { body: sha256(body) } };
}

describe("downloadPrograms", () => {
  it("puts verified programs into the folder, executable and whole", async () => {
    const folder = target();
    const site = await serve({ ...program("kubectl", "one"), ...program("kubelet", "two") });

    await downloadPrograms(downloads(site.url), ["kubectl", "kubelet"], folder);

    expect(readFileSync(join(folder, "kubectl"), "utf8")).toBe("one");
    expect(readFileSync(join(folder, "kubelet"), "utf8")).toBe("two");
    expect(statSync(join(folder, "kubectl")).mode & 0o777).toBe(0o755);
    expect(readdirSync(dirname(folder))).toEqual(["kubernetes-key"]);
  });

  it("follows a redirect to where the files are", async () => {
    const folder = target();
    const files = await serve(program("kubectl", "one"));
    const site = await serve({
      [`${BIN}/kubectl`]: { location: `${files.url}${BIN}/kubectl` },
      [`${BIN}/kubectl.sha256`]: { location: `${files.url}${BIN}/kubectl.sha256` },
    });

    await downloadPrograms(downloads(site.url), ["kubectl"], folder);

    expect(readdirSync(folder)).toEqual(["kubectl"]);
  });

  it("takes etcd out of its archive", async () => {
    const folder = target();
    const archive = etcdArchive();
    const site = await serve({
      [`/v3.6.16/${ETCD}.tar.gz`]: { body: archive },
      "/v3.6.16/SHA256SUMS": { body: `${SUM}  etcd-v3.6.16-other.zip\n${sha256(archive)}  ${ETCD}.tar.gz\n` },
    });

    await downloadPrograms(downloads(site.url), ["etcd"], folder);

    expect(readdirSync(folder)).toEqual(["etcd"]);
    expect(readFileSync(join(folder, "etcd"), "utf8")).toBe("etcd itself");
  });

  it("takes several programs out of one archive that is asked for once", async () => {
    const folder = target();
    const name = `containerd-static-2.4.2-linux-${ARCH}.tar.gz`;
    const archive = archiveOf("bin", ["containerd", "ctr"]);
    const site = await serve({
      [`/v2.4.2/${name}`]: { body: archive },
      [`/v2.4.2/${name}.sha256sum`]: { body: `${sha256(archive)}  ${name}\n` },
    });

    await downloadPrograms(downloads(site.url), ["containerd", "ctr"], folder);

    expect(readFileSync(join(folder, "ctr"), "utf8")).toBe("ctr itself");
    expect(readdirSync(folder)).toEqual(["containerd", "ctr"]);
    expect(site.asked).toEqual([`/v2.4.2/${name}.sha256sum`, `/v2.4.2/${name}`]);
  });

  it.each([
    {
      name: "a program with a dot before its name",
      program: "ptp",
      path: `/v1.9.1/cni-plugins-linux-${ARCH}-v1.9.1.tgz`,
      folder: ".",
    },
    {
      name: "a program in no folder",
      program: "coredns",
      path: `/v1.15.0/coredns_1.15.0_linux_${ARCH}.tgz`,
      folder: "",
    },
  ] as const)("takes $name out of an archive", async ({ program: wanted, path, folder: inside }) => {
    const folder = target();
    const archive = archiveOf(inside, [wanted]);
    const site = await serve({
      [path]: { body: archive },
      [`${path}.sha256`]: { body: `${sha256(archive)}  ${path.split("/").at(-1)}\n` },
    });

    await downloadPrograms(downloads(site.url), [wanted], folder);

    expect(readFileSync(join(folder, wanted), "utf8")).toBe(`${wanted} itself`);
  });

  it("reports its progress", async () => {
    const site = await serve(program("kubectl", "content"));
    const told: unknown[] = [];
    const onBytes = (...step: readonly unknown[]): void => void told.push(step);

    await downloadPrograms({ ...downloads(site.url), onBytes }, ["kubectl"], target());

    expect(told.at(-1)).toEqual(["kubectl", 7, 7]);
  });

  const good = program("kubectl", "one");
  const path = `${BIN}/kubectl`;
  it.each([
    {
      name: "a wrong checksum",
      answers: { ...good, [path]: { body: "altered" } },
      reason: /kubectl is refused: its SHA-256 is \w+, published is \w+/,
    },
    {
      name: "a file that is not there",
      answers: { [`${path}.sha256`]: { body: SUM } },
      reason: /kubectl: 404 Not Found/,
    },
    {
      name: "a checksum that is not there",
      answers: { [path]: { body: "one" } },
      reason: /kubectl\.sha256: 404 Not Found/,
    },
    {
      name: "a checksum that is none",
      answers: { ...good, [`${path}.sha256`]: { body: "<html>" } },
      reason: /has no checksum of kubectl/,
    },
    {
      name: "a body that breaks off",
      answers: { ...good, [path]: { body: "on", claimedLength: 3 } },
      reason: /terminated/,
    },
  ])("refuses $name and leaves nothing", async ({ answers, reason }) => {
    const folder = target();
    const site = await serve(answers);

    await expect(downloadPrograms(downloads(site.url), ["kubectl"], folder)).rejects.toThrow(reason);

    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(dirname(folder))).toEqual(["kubernetes-key"]);
  });

  it("keeps what was verified before one was refused", async () => {
    const folder = target();
    const site = await serve(program("kubectl", "one"));

    await expect(downloadPrograms(downloads(site.url), ["kubectl", "kubelet"], folder)).rejects.toThrow("404");

    expect(readdirSync(folder)).toEqual(["kubectl"]);
  });

  it("skips a site that does not answer", async () => {
    const port = await freePort(createSystemRandom(), "127.0.0.1");

    const downloading = downloadPrograms(downloads(`http://127.0.0.1:${port}`), ["kubectl"], target());

    await expect(downloading).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });
});

/** An archive like those of etcd's releases. */
function etcdArchive(): Buffer {
  const folder = scratchFolder();
  mkdirSync(join(folder, ETCD));
  writeFileSync(join(folder, ETCD, "etcd"), "etcd itself");
  writeFileSync(join(folder, ETCD, "README.md"), "read me");
  return execFileSync("tar", ["-cz", "-C", folder, ETCD]);
}

/** An archive with programs in a folder, "." or none. */
function archiveOf(inside: string, names: readonly string[]): Buffer {
  const folder = scratchFolder();
  mkdirSync(join(folder, inside), { recursive: true });
  for (const name of names) writeFileSync(join(folder, inside, name), `${name} itself`);
  return execFileSync("tar", ["-cz", "-C", folder, ...(inside === "" ? names : [inside])]);
}
