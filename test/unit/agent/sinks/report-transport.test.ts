import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createReportTransport } from "../../../../agent/sinks/report-transport.ts";
import type { RotatingFile } from "../../../../common/kube/rotating-file.ts";
import { readText } from "../../../../common/kube/transport.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { listen, type Route, type ServingPair } from "../../../../common/runtime/http-server.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createProjectedVolume } from "../../../fakes/projected-volume.ts";
import { type CertificateAuthority, createAuthority } from "../../../rig/control-plane/certificates.ts";

const never = new AbortController().signal;
const REPORT = { method: "PUT", path: "/report", headers: { "content-type": "application/json" }, body: "{}" } as const;

let first: CertificateAuthority;
let second: CertificateAuthority;
beforeAll(async () => {
  [first, second] = await Promise.all([createAuthority("first"), createAuthority("second")]);
});

/** What is published: known from the first reading on, until it is read anew. */
function createPublished(now = (): string => expect.fail("it is not asked for what is published")): RotatingFile {
  let known: string | undefined;
  const readAnew = async (): Promise<string> => {
    known = now();
    return known;
  };
  return { read: async () => known ?? (await readAnew()), readAnew };
}

/** A server that takes the tokens in `good`, and an agent's way to it; `published` instead of the CA file where it is given. */
async function setUp(files: Readonly<Record<string, string>>, good: readonly string[], published?: () => string) {
  const logger = createFakeLogger();
  const seen: (string | undefined)[] = [];
  const route: Route = {
    method: "PUT",
    path: "/report",
    maxBodyBytes: 100,
    answer: ({ authorization }) => {
      seen.push(authorization);
      return { status: good.includes(authorization ?? "") ? 200 : 401, body: "said", isLast: true };
    },
  };
  let pair: ServingPair = await first.server(["127.0.0.1"]);
  let notify: (pair: ServingPair) => void = () => {};
  const identity = {
    pair: () => pair,
    onChange: (listener: typeof notify) => {
      notify = listener;
      return () => {};
    },
  };
  const server = await listen([route], { host: "127.0.0.1", port: 0, identity }, logger);
  const scratch = mkdtempSync(join(tmpdir(), "report-way-"));
  const volume = createProjectedVolume(join(scratch, "mooring"));
  volume.write(files);
  const transport = createReportTransport(
    {
      aggregatorUrl: server.url,
      aggregatorCaFile: published === undefined ? join(volume.folder, "ca.crt") : undefined,
      aggregatorTokenFile: join(volume.folder, "token"),
    },
    { clock: createSystemClock(), logger, published: createPublished(published) },
  );
  onTestFinished(async () => {
    await Promise.all([transport.close(), server.close()]);
    rmSync(scratch, { recursive: true, force: true });
  });
  return {
    ...{ seen, volume, logger },
    certify: async (authority: CertificateAuthority) => {
      pair = await authority.server(["127.0.0.1"]);
      notify(pair);
    },
    send: async () => {
      const response = await transport.send(REPORT, never);
      return { status: response.status, text: await readText(response) };
    },
  };
}

describe("the transport of the reports", () => {
  it("sends the token", async () => {
    const { send, seen } = await setUp({ token: "one\n", "ca.crt": first.certificate }, ["Bearer one"]);

    expect(await send()).toEqual({ status: 200, text: "said" });
    expect(seen).toEqual(["Bearer one"]);
  });

  it("sends the same report again when the token was rotated meanwhile", async () => {
    const { send, volume, seen } = await setUp({ token: "one", "ca.crt": first.certificate }, ["Bearer two"]);
    const early = await send();

    volume.write({ token: "two", "ca.crt": first.certificate });

    expect([early.status, (await send()).status]).toEqual([401, 200]);
    expect(seen.slice(0, 1)).toEqual(["Bearer one"]);
    expect(seen.at(-1)).toBe("Bearer two");
  });

  it("follows the CA file", async () => {
    const { send, volume, certify } = await setUp({ token: "one", "ca.crt": first.certificate }, ["Bearer one"]);
    await send();
    volume.write({ token: "one", "ca.crt": `${first.certificate}\n${second.certificate}` });
    await certify(second);

    expect(await send()).toMatchObject({ status: 200 });
  });

  it("trusts without a CA file what is published, and reads that anew when the server has another certificate", async () => {
    let published = first.certificate;
    const { send, certify, seen } = await setUp({ token: "one" }, ["Bearer one"], () => published);
    await send();
    published = second.certificate;
    const before = await send();
    await certify(second);

    expect([before.status, (await send()).status]).toEqual([200, 200]);
    expect(seen).toHaveLength(3);
  });

  it("sends its token to no server whose certificate is not published", async () => {
    const { send, seen } = await setUp({ token: "one" }, ["Bearer one"], () => second.certificate);

    await expect(send()).rejects.toMatchObject({ code: "transport-failed" });
    expect(seen).toEqual([]);
  });

  it("sends its token to no server whose CA is not in the file", async () => {
    const { send, seen } = await setUp({ token: "one", "ca.crt": second.certificate }, ["Bearer one"]);

    await expect(send()).rejects.toMatchObject({ code: "transport-failed" });
    expect(seen).toEqual([]);
  });

  it.each([
    { name: "a CA file that does not exist yet", files: { token: "one" }, why: "cannot read ca.crt" },
    {
      name: "an empty CA file, which must not mean the system's CAs",
      files: { token: "one", "ca.crt": "" },
      why: "no certificate yet",
    },
    { name: "a token that does not exist yet", files: { "ca.crt": "x" }, why: "cannot read token" },
  ])("sends nothing with $name", async ({ files, why }) => {
    const { send, seen } = await setUp(files, []);

    await expect(send()).rejects.toMatchObject({ code: "file-unreadable", message: expect.stringContaining(why) });
    expect(seen).toEqual([]);
  });

  it("never logs a token", async () => {
    const { send, logger } = await setUp({ token: "secret-one", "ca.crt": first.certificate }, []);

    await send();

    expect(JSON.stringify(logger.lines)).not.toContain("secret-one");
  });
});
