import { isIP } from "node:net";
import { connect as connectTls, createServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeSelfSigned } from "../../../../aggregator/certificates/self-signed.ts";
import { readCertificate } from "../../../../common/runtime/certificates.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { ServingPair } from "../../../../common/runtime/http-server.ts";

const HOUR = 3_600_000;
const NAMES = [
  "127.0.0.1",
  "fd00::1",
  "::ffff:10.0.0.1",
  "1:2:3:4:5:6:7:8",
  "::1",
  "fd00::",
  "1::8",
  "mooring-aggregator.mooring.svc",
];
const NOW = Math.floor(createSystemClock().wallMs() / 1000) * 1000;
const make = (lifetimeMs = 6 * HOUR): ServingPair => makeSelfSigned({ nowMs: NOW, lifetimeMs }, NAMES);

/** What a client says to a server with this pair: nothing, or why it refuses it. */
async function refusal(pair: ServingPair, ca: string, servername?: string): Promise<unknown> {
  const server = createServer({ cert: pair.certificate, key: pair.key }, (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = Object(server.address());
  return await new Promise((resolve) => {
    const to = { host: "127.0.0.1", port, ca, ...(servername === undefined ? {} : { servername }) };
    const socket = connectTls(to, () => resolve(undefined));
    socket.on("error", (error) => resolve("code" in error ? error.code : error)).on("close", () => socket.destroy());
  });
}

describe("a self-signed certificate", () => {
  it("is for these names, signed by its own key, no authority, and valid from a month ago", () => {
    const { certificate, key } = make();
    const read = readCertificate(certificate) ?? expect.fail("it cannot be read");
    const { x509 } = read;

    expect(read).toMatchObject({ notBeforeMs: NOW - 30 * 24 * HOUR, notAfterMs: NOW + 6 * HOUR });
    expect([x509.ca, x509.verify(x509.publicKey), x509.issuer === x509.subject]).toEqual([false, true, true]);
    expect(x509.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(x509.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    expect(`${certificate}${key}`.split("\n").filter((line) => line.length > 64)).toEqual([]);
    expect(NAMES.map((name) => (isIP(name) ? x509.checkIP(name) : x509.checkHost(name)))).not.toContain(undefined);
    expect([x509.checkHost("mooring.svc"), x509.checkIP("fd00::2")]).toEqual([undefined, undefined]);
  });

  it("is another one each time, with another subject: OpenSSL finds one of each subject alone", () => {
    const some = Array.from({ length: 20 }, () => readCertificate(make().certificate)?.x509);

    expect(new Set(some.map((one) => one?.subject)).size).toBe(20);
    expect(new Set(some.map((one) => one?.serialNumber)).size).toBe(20);
    expect(some.every((one) => one?.serialNumber.length === 32)).toBe(true);
  });

  const own = make();
  const others = Array.from({ length: 15 }, () => make().certificate);
  const middle = [...others.slice(0, 7), own.certificate, ...others.slice(7)].join("");
  it.each<readonly [name: string, ca: string, servername: string | undefined, refused: unknown]>([
    ["is trusted by who trusts it alone", own.certificate, undefined, undefined],
    ["is trusted by who trusts fifteen others, too", middle, undefined, undefined],
    ["is trusted under its other name", own.certificate, "mooring-aggregator.mooring.svc", undefined],
    ["is refused under a name that it does not have", own.certificate, "other.svc", "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["is refused by who trusts others alone", others.join(""), undefined, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ])("%s", async (...[, ca, servername, refused]) => {
    expect(await refusal(own, ca, servername)).toBe(refused);
  });

  it("is refused when it has expired", async () => {
    const expired = make(-HOUR / 2);

    expect(await refusal(expired, expired.certificate)).toBe("CERT_HAS_EXPIRED");
  });
});
