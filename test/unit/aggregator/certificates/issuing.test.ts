import { beforeAll, describe, expect, it } from "vitest";
import { issueAuthority, issueCertificate } from "../../../../aggregator/certificates/issuing.ts";
import { type Certificate, readBundle, readCertificate, readPair } from "../../../../aggregator/certificates/pem.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";

const HOUR = 3_600_000;
const NAMES = ["127.0.0.1", "fd00::1", "mooring-aggregator.mooring.svc"];
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
