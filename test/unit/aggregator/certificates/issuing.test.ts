import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { type Certificate, readBundle, readCertificate, readPair } from "../../../../aggregator/certificates/pem.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";

const HOUR = 3_600_000;
const NAME = "mooring-aggregator.mooring.svc";
const NAMES = ["127.0.0.1", "fd00::1", NAME];
const NOW = Math.floor(createSystemClock().wallMs() / 1000) * 1000;

let authority: ServingPair;
let other: ServingPair;
let leaf: ServingPair;
beforeAll(async () => {
  const make = () => issueAuthority({ nowMs: NOW, lifetimeMs: 48 * HOUR });
  [authority, other] = await Promise.all([make(), make()]);
  leaf = await issueCertificate({ nowMs: NOW, lifetimeMs: 6 * HOUR }, NAMES, authority);
});

function read(pair: ServingPair): Certificate {
  return readPair(pair) ?? expect.fail("this is no pair");
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === "object" && address !== null ? address.port : expect.fail("the server has no port");
}

/** What a client that trusts `ca` sees of a server with this pair when it asks for a name. */
async function meet(pair: ServingPair, ca: string, servername: string): Promise<string> {
  const server = createServer({ cert: pair.certificate, key: pair.key, minVersion: "TLSv1.3" });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return await new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: portOf(server.address()), ca, servername }, () => {
      socket.destroy();
      resolve("trusted");
    });
    socket.on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

describe("what is issued", () => {
  it("is an authority that is signed by itself, and not the same twice", () => {
    const [one, two] = [read(authority), read(other)];

    expect(one).toMatchObject({ isAuthority: true, notBeforeMs: NOW - HOUR, notAfterMs: NOW + 48 * HOUR });
    expect([one.isSignedBy(one), one.isSignedBy(two), one.id === two.id]).toEqual([true, false, false]);
  });

  it("is a certificate for these names, of that authority, which is none itself", () => {
    const certificate = read(leaf);

    expect(certificate).toMatchObject({ isAuthority: false, notBeforeMs: NOW - HOUR, notAfterMs: NOW + 6 * HOUR });
    expect(certificate.names).toEqual(NAMES);
    expect([authority, other].map((one) => certificate.isSignedBy(read(one)))).toEqual([true, false]);
  });

  it("does not outlive its authority", async () => {
    const long = await issueCertificate({ nowMs: NOW, lifetimeMs: 999 * HOUR }, NAMES, authority);

    expect(read(long).notAfterMs).toBe(NOW + 48 * HOUR);
  });

  it.each<readonly [name: string, ca: () => string, asked: string, seen: RegExp]>([
    ["trusted for its name", () => authority.certificate, NAME, /trusted/],
    ["not trusted for another name", () => authority.certificate, "example.com", /ERR_TLS_CERT_ALTNAME_INVALID/],
    ["trusted by who trusts two authorities", () => other.certificate + authority.certificate, NAME, /trusted/],
    ["not trusted by who trusts another", () => other.certificate, NAME, /UNABLE_TO_VERIFY|SELF_SIGNED|UNABLE_TO_GET/],
  ])("is %s", async (...[, ca, asked, seen]) => {
    expect(await meet(leaf, ca(), asked)).toMatch(seen);
  });
});

describe("what is read", () => {
  it("is all certificates of a bundle", () => {
    const bundle = readBundle(`# told\n${authority.certificate}\n${other.certificate}garbage`);

    expect(bundle.map(({ id }) => id)).toEqual([read(authority).id, read(other).id]);
  });

  it.each([
    ["an empty text", ""],
    ["no PEM", "hello"],
    ["a certificate that is cut off", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"],
  ])("is nothing of %s", (_, text) => {
    expect([readPair({ certificate: text, key: text }), readBundle(text)]).toEqual([undefined, []]);
  });

  it("is no pair of a certificate and another's key, or none", () => {
    const { certificate } = leaf;

    expect([authority.key, ""].map((key) => readPair({ certificate, key }))).toEqual([undefined, undefined]);
    expect(readCertificate(certificate)).toBeDefined();
  });
});
