import { createHash, generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { isIPv4 } from "node:net";
import * as asn1 from "asn1js";
import type { ServingPair } from "../../common/runtime/http-server.ts";

type Block = asn1.BaseBlock;

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";
const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";
const EXTENDED_KEY_USAGE = "2.5.29.37";
const SUBJECT_ALTERNATIVE_NAME = "2.5.29.17";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
/** The first of nine flags. */
const DIGITAL_SIGNATURE = { valueHex: Uint8Array.of(0x80), unusedBits: 7 };
const CONTEXT = 3;
/** Certificates are valid from so long before they are made, as the clock of a node may be far behind. Milliseconds. */
const BACKDATED_MS = 30 * 86_400_000;

/** A new key, and a certificate for these names and IP addresses, signed by that key and no CA (RFC 5280, 4.1). */
export function makeSelfSigned(
  { nowMs, lifetimeMs }: { readonly nowMs: number; readonly lifetimeMs: number },
  names: readonly string[],
): ServingPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  // As different as the key; positive.
  const serial = Uint8Array.of(0x40, ...createHash("sha256").update(spki).digest().subarray(0, 15));
  // Of two trusted certificates with the same subject OpenSSL finds one alone. A subject has 64 characters at most, so it is no name.
  const commonName = new asn1.Utf8String({ value: `mooring-aggregator ${Buffer.from(serial).toString("hex")}` });
  const subject = sequence(new asn1.Set({ value: [sequence(identifier(COMMON_NAME), commonName)] }));
  const algorithm = sequence(identifier(ECDSA_WITH_SHA256));
  const content = sequence(
    tagged(0, new asn1.Integer({ value: 2 })),
    new asn1.Integer({ valueHex: serial }),
    algorithm,
    subject,
    sequence(timeOf(nowMs - BACKDATED_MS), timeOf(nowMs + lifetimeMs)),
    subject,
    asn1.fromBER(spki).result,
    tagged(3, extensions(names)),
  );
  const signature = sign("sha256", Buffer.from(content.toBER()), privateKey);
  const whole = sequence(content, algorithm, new asn1.BitString({ valueHex: signature })).toBER();
  return {
    certificate: new X509Certificate(Buffer.from(whole)).toString(),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function extensions(names: readonly string[]): Block {
  const critical = new asn1.Boolean({ value: true });
  const octets = (block: Block): Block => new asn1.OctetString({ valueHex: block.toBER() });
  return sequence(
    sequence(identifier(BASIC_CONSTRAINTS), critical, octets(sequence())),
    sequence(identifier(KEY_USAGE), critical, octets(new asn1.BitString(DIGITAL_SIGNATURE))),
    sequence(identifier(EXTENDED_KEY_USAGE), octets(sequence(identifier(SERVER_AUTH)))),
    sequence(identifier(SUBJECT_ALTERNATIVE_NAME), octets(sequence(...names.map(alternativeName)))),
  );
}

function alternativeName(name: string): Block {
  const tag = (tagNumber: number, value: Iterable<number>): Block =>
    new asn1.Primitive({ idBlock: { tagClass: CONTEXT, tagNumber }, valueHex: Uint8Array.from(value) });
  if (isIPv4(name)) return tag(7, name.split(".").map(Number));
  return name.includes(":") ? tag(7, bytesOfIPv6(name)) : tag(2, Buffer.from(name));
}

/** `URL` writes an address in its shortest form, without dots: `::` stands for the zeros that are missing. */
function bytesOfIPv6(text: string): Buffer {
  const parts = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
  const [head = "", tail = ""] = parts.map((part) => part.replace(/(\w+):?/g, (_, group) => group.padStart(4, "0")));
  return Buffer.from(head.padEnd(32 - tail.length, "0") + tail, "hex");
}

const sequence = (...value: readonly Block[]): Block => new asn1.Sequence({ value: [...value] });
const identifier = (value: string): Block => new asn1.ObjectIdentifier({ value });
const tagged = (tagNumber: number, value: Block): Block =>
  new asn1.Constructed({ idBlock: { tagClass: CONTEXT, tagNumber }, value: [value] });
/** In whole seconds. A UTCTime's year has two digits: certificates have to expire before 2050 (RFC 5280, 4.1.2.5). */
const timeOf = (ms: number): Block =>
  // biome-ignore lint/style/noRestrictedGlobals: the library's own kind of time; the moment is the caller's.
  new asn1.UTCTime({ valueDate: new Date(Math.floor(ms / 1000) * 1000) });
