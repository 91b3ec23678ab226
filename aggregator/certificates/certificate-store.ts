import * as v from "valibot";
import type { KubeParts } from "../../common/kube/client.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import type {
  CertificatePlan,
  PreviousAuthority,
  ServingCertificate,
  StoredCertificates,
} from "../core/certificate-plan.ts";
import { type ObjectPlace, readTexts, type TextObject, writeTexts } from "./objects.ts";
import { type Certificate, readBundle, readPair } from "./pem.ts";

/** The objects that hold keys, which only the aggregator may read, and CA certificates, which agents read. */
export interface CertificatePlaces {
  readonly namespace: string;
  readonly agentNamespace: string;
}

/** What is stored at a moment. */
export interface CertificateShelf {
  readonly stored: StoredCertificates;
  /** A CA that can sign, by its ID. */
  readonly signer: (id: string) => ServingPair | undefined;
  /** The writes of the issuer. Each fails where the object has changed since it was read; throws `MooringError`. */
  readonly addAuthority: (authority: ServingPair) => Promise<void>;
  readonly keepAuthorities: (ids: readonly string[]) => Promise<void>;
  readonly publish: (plan: Extract<CertificatePlan, { readonly kind: "publish" }>) => Promise<void>;
  readonly serve: (pair: ServingPair, previous: PreviousAuthority | undefined) => Promise<void>;
}

/** The certificate that the aggregator serves, in Kubernetes' own Secret type for it. */
export const SERVING_SECRET = "mooring-aggregator-tls";
/** The Secret with the CA keys, and the ConfigMap with the CA certificates. */
export const AUTHORITY_NAME = "mooring-aggregator-ca";
const CERTIFICATE_FILE = "tls.crt";
const KEY_FILE = "tls.key";
/** The key that Kubernetes' own bundles use (kube-root-ca.crt). */
const BUNDLE_FILE = "ca.crt";
const COMPLETE_SINCE = "mooring.dev/complete-since";
const PREVIOUS = "mooring.dev/previous-authority";

const previousSchema = v.pipe(v.string(), v.parseJson(), v.object({ id: v.string(), untilMs: v.number() }));

/** The server certificate in a Secret; undefined where it holds no usable one. */
export function servingPairOf({ texts }: TextObject): ServingPair | undefined {
  const pair = { certificate: texts[CERTIFICATE_FILE] ?? "", key: texts[KEY_FILE] ?? "" };
  return readPair(pair) && pair;
}

/** Reads what is stored. Throws `MooringError`. */
export async function readCertificates(
  parts: Pick<KubeParts, "client" | "random">,
  { namespace, agentNamespace }: CertificatePlaces,
  signal: AbortSignal,
): Promise<CertificateShelf> {
  const places = {
    serving: { kind: "Secret", namespace, name: SERVING_SECRET },
    authorities: { kind: "Secret", namespace, name: AUTHORITY_NAME },
    bundle: { kind: "ConfigMap", namespace: agentNamespace, name: AUTHORITY_NAME },
  } as const satisfies Record<string, ObjectPlace>;
  const read = (place: ObjectPlace): Promise<TextObject | undefined> => readTexts(parts.client, place, signal);
  const [serving, authorities, bundle] = await Promise.all([
    read(places.serving),
    read(places.authorities),
    read(places.bundle),
  ]);
  const pairs = authorityPairs(authorities);
  const trusted = readBundle(bundle?.texts[BUNDLE_FILE] ?? "");
  const known = [...[...pairs.values()].map(({ read }) => read), ...trusted];
  const write = (
    place: ObjectPlace,
    seen: TextObject | undefined,
    content: Parameters<typeof writeTexts>[1]["content"],
  ): Promise<void> => writeTexts(parts, { place, seen, content }, signal);
  const putAuthorities = (kept: readonly ServingPair[]): Promise<void> =>
    write(places.authorities, authorities, { texts: textsFor(kept), type: "Opaque" });
  return {
    stored: {
      authorities: [...pairs.values()].map(({ read }) => read),
      trusted,
      completeSinceMs: numberOf(bundle?.annotations[COMPLETE_SINCE]),
      serving: serving && servingCertificate(serving, known),
    },
    signer: (id) => pairs.get(id)?.pair,
    addAuthority: (authority) => putAuthorities([...[...pairs.values()].map(({ pair }) => pair), authority]),
    keepAuthorities: (ids) => putAuthorities(ids.flatMap((id) => pairs.get(id)?.pair ?? [])),
    publish: ({ trusted: ids, completeSinceMs }) =>
      write(places.bundle, bundle, {
        texts: { [BUNDLE_FILE]: ids.map((id) => pemOf(known, id)).join("") },
        annotations: { [COMPLETE_SINCE]: String(completeSinceMs) },
      }),
    serve: ({ certificate, key }, previous) =>
      write(places.serving, serving, {
        texts: { [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key },
        annotations: { [PREVIOUS]: previous === undefined ? null : JSON.stringify(previous) },
        type: "kubernetes.io/tls",
      }),
  };
}

interface AuthorityPair {
  readonly pair: ServingPair;
  readonly read: Certificate;
}

/** CAs by ID. Foreign entries in the Secret go with the next write. */
function authorityPairs(secret: TextObject | undefined): ReadonlyMap<string, AuthorityPair> {
  const found = Object.keys(secret?.texts ?? {}).flatMap((name): readonly AuthorityPair[] => {
    if (!name.endsWith(".crt")) return [];
    const pair = { certificate: secret?.texts[name] ?? "", key: secret?.texts[name.replace(/crt$/, "key")] ?? "" };
    const read = readPair(pair);
    return read?.isAuthority && read.isSignedBy(read) ? [{ pair, read }] : [];
  });
  return new Map(found.map((one) => [one.read.id, one]));
}

function textsFor(pairs: readonly ServingPair[]): Readonly<Record<string, string>> {
  const entries = pairs.flatMap((pair): [string, string][] => {
    const name = readPair(pair)?.id.slice(0, 16);
    return name === undefined
      ? []
      : [
          [`${name}.crt`, pair.certificate],
          [`${name}.key`, pair.key],
        ];
  });
  return Object.fromEntries(entries);
}

function servingCertificate(secret: TextObject, known: readonly Certificate[]): ServingCertificate | undefined {
  const pair = servingPairOf(secret);
  const read = pair && readPair(pair);
  if (read === undefined) return undefined;
  const { notBeforeMs, notAfterMs, names } = read;
  // No agent trusts a certificate of an unknown CA.
  const signedBy = known.find((one) => read.isSignedBy(one))?.id ?? "";
  const previous = v.safeParse(previousSchema, secret.annotations[PREVIOUS]);
  return { notBeforeMs, notAfterMs, names, signedBy, previous: previous.success ? previous.output : undefined };
}

function pemOf(known: readonly Certificate[], id: string): string {
  const pem = known.find((one) => one.id === id)?.pem;
  if (pem === undefined) throw new MooringError("certificate-invalid", `the authority ${id} is not there any more`);
  return pem;
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}
