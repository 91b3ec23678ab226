import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { readBundle, readCertificate, readPair } from "../../../../aggregator/certificates/pem.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";

const HOUR = 3_600_000;
const NAMES = ["127.0.0.1", "fd00::1", "mooring-aggregator.mooring.svc"];
const NOW = Math.floor(createSystemClock().wallMs() / 1000) * 1000;

let authority: ServingPair;
let other: ServingPair;
let leaf: ServingPair;
beforeAll(async () => {
  [authority, other] = await Promise.all([
    issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR }),
    issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR }),
  ]);
  leaf = await issueCertificate({ nowMs: NOW, lifetimeMs: 6 * HOUR }, NAMES, authority);
});

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address;
}

/** What a client that trusts `ca` sees of a server with this pair when it asks for a name. */
async function meet(pair: ServingPair, ca: string, servername: string): Promise<string> {
  const server = createServer({ cert: pair.certificate, key: pair.key, minVersion: "TLSv1.3" });
  onTestFinished(() => {
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = addressOf(server.address());
  return await new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, ca, servername }, () => {
      socket.destroy();
      resolve("trusted");
    });
    socket.on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

describe("an authority", () => {
  it("is one, signed by itself, with the key that belongs to it", () => {
    const read = readPair(authority);

    expect(read).toMatchObject({ isAuthority: true, notBeforeMs: NOW - HOUR, notAfterMs: NOW + 48 * HOUR });
    expect(read?.isSignedBy(read)).toBe(true);
  });

  it("is not one more of another that was made at the same moment", () => {
    const [one, two] = [readPair(authority), readPair(other)];

    expect(one?.id).not.toBe(two?.id);
    expect(one && two && one.isSignedBy(two)).toBe(false);
  });
});

describe("a certificate", () => {
  it("is for these names, of that authority, and no authority itself", () => {
    const [read, signer, stranger] = [readPair(leaf), readPair(authority), readPair(other)];

    expect(read).toMatchObject({ isAuthority: false, notBeforeMs: NOW - HOUR, notAfterMs: NOW + 6 * HOUR });
    expect(read?.names).toEqual(["127.0.0.1", "fd00::1", "mooring-aggregator.mooring.svc"]);
    expect(signer && read?.isSignedBy(signer)).toBe(true);
    expect(stranger && read?.isSignedBy(stranger)).toBe(false);
  });

  it("does not outlive its authority", async () => {
    const long = await issueCertificate({ nowMs: NOW, lifetimeMs: 999 * HOUR }, NAMES, authority);

    expect(readPair(long)?.notAfterMs).toBe(NOW + 48 * HOUR);
  });

  it.each([
    { name: "its name", servername: "mooring-aggregator.mooring.svc", trusted: "trusted" },
    { name: "another name", servername: "example.com", trusted: "ERR_TLS_CERT_ALTNAME_INVALID" },
  ])("is trusted for $name: $trusted", async ({ servername, trusted }) => {
    expect(await meet(leaf, authority.certificate, servername)).toBe(trusted);
  });

  it("is trusted by who trusts both authorities, and not by who trusts the other alone", async () => {
    const name = "mooring-aggregator.mooring.svc";

    expect(await meet(leaf, other.certificate + authority.certificate, name)).toBe("trusted");
    expect(await meet(leaf, other.certificate, name)).toMatch(/UNABLE_TO_VERIFY|SELF_SIGNED|UNABLE_TO_GET_ISSUER/);
  });
});

describe("what is read", () => {
  it("is all certificates of a bundle", () => {
    const bundle = readBundle(`# told\n${authority.certificate}\n${other.certificate}garbage`);

    expect(bundle.map(({ id }) => id)).toEqual([readPair(authority)?.id, readPair(other)?.id]);
  });

  it.each([
    { name: "an empty text", certificate: "", key: "" },
    { name: "no PEM", certificate: "hello", key: "hello" },
    {
      name: "a certificate that is cut off",
      certificate: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
      key: "",
    },
  ])("is nothing for $name", ({ certificate, key }) => {
    expect(readPair({ certificate, key })).toBeUndefined();
    expect(readBundle(certificate)).toEqual([]);
  });

  it("is nothing for a certificate with another's key, or none", () => {
    expect(readPair({ certificate: leaf.certificate, key: authority.key })).toBeUndefined();
    expect(readPair({ certificate: leaf.certificate, key: "" })).toBeUndefined();
    expect(readCertificate(leaf.certificate)).toBeDefined();
  });
});
