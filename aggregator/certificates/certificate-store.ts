import type { KubeParts } from "../../common/kube/client.ts";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import type { StoredCertificates } from "../core/certificate-plan.ts";
import { type ObjectPlace, readTexts, type Texts, writeTexts } from "./objects.ts";
import { type Certificate, readBundle, readPair } from "./pem.ts";

/** The objects that hold keys, which only the aggregator may read, and CA certificates, which agents read. */
export interface CertificatePlaces {
  readonly namespace: string;
  readonly agentNamespace: string;
}

/** The certificate that the aggregator serves, in Kubernetes' own Secret type for it. */
export const SERVING_SECRET = "mooring-aggregator-tls";
/** The Secret with the CA keys, and the ConfigMap with the CA certificates. */
export const AUTHORITY_NAME = "mooring-aggregator-ca";
const CERTIFICATE_FILE = "tls.crt";
const KEY_FILE = "tls.key";
/** The key that Kubernetes' own bundles use (kube-root-ca.crt). */
const BUNDLE_FILE = "ca.crt";

/** What a Secret has as the server's certificate; it may be unusable. */
export function servingPairOf(texts: Texts): ServingPair {
  return { certificate: texts[CERTIFICATE_FILE] ?? "", key: texts[KEY_FILE] ?? "" };
}

/** Reads what is stored. A write fails where its object has changed since. All throw `MooringError`. */
export async function readCertificates(
  parts: Pick<KubeParts, "client" | "random">,
  { namespace, agentNamespace }: CertificatePlaces,
  signal: AbortSignal,
) {
  const load = async (place: ObjectPlace) => {
    const seen = await readTexts(parts.client, place, signal);
    const write = (texts: Texts): Promise<void> => writeTexts(parts, { place, seen, texts }, signal);
    return { texts: seen?.texts ?? {}, write };
  };
  const [serving, authorities, bundle] = await Promise.all([
    load({ kind: "Secret", namespace, name: SERVING_SECRET, type: "kubernetes.io/tls" }),
    load({ kind: "Secret", namespace, name: AUTHORITY_NAME }),
    load({ kind: "ConfigMap", namespace: agentNamespace, name: AUTHORITY_NAME }),
  ]);
  const pairs = authorityPairs(authorities.texts);
  // Without keys, so that no log line can contain one.
  const own = [...pairs.values()].map(({ pair: _, ...authority }) => authority);
  const trusted = readBundle(bundle.texts[BUNDLE_FILE] ?? "");
  const known = [...own, ...trusted];
  const served = readPair(servingPairOf(serving.texts));
  // No agent trusts a certificate of an unknown CA.
  const signedBy = known.find((one) => served?.isSignedBy(one))?.id ?? "";
  const stored: StoredCertificates = { authorities: own, trusted, serving: served && { ...served, signedBy } };
  return {
    stored,
    /** A CA that can sign, by its ID. */
    signer: (id: string): ServingPair | undefined => pairs.get(id)?.pair,
    addAuthority: (added: ServingPair, kept: readonly string[]): Promise<void> =>
      authorities.write(textsFor([...kept.flatMap((id) => pairs.get(id)?.pair ?? []), added])),
    publish: (ids: readonly string[]): Promise<void> =>
      bundle.write({ [BUNDLE_FILE]: ids.map((id) => known.find((one) => one.id === id)?.pem).join("") }),
    serve: ({ certificate, key }: ServingPair): Promise<void> =>
      serving.write({ [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key }),
  };
}

/** CAs that can sign, by ID. Foreign entries in the Secret go with the next write. */
function authorityPairs(texts: Texts): ReadonlyMap<string, Certificate & { readonly pair: ServingPair }> {
  const found = Object.entries(texts).flatMap(([name, certificate]) => {
    if (!name.endsWith(".crt")) return [];
    const pair = { certificate, key: texts[name.replace(/crt$/, "key")] ?? "" };
    const read = readPair(pair);
    return read?.isAuthority && read.isSignedBy(read) ? [{ ...read, pair }] : [];
  });
  return new Map(found.map((one) => [one.id, one]));
}

function textsFor(pairs: readonly ServingPair[]): Texts {
  const entries = pairs.flatMap(({ certificate, key }) => {
    const name = readPair({ certificate, key })?.id.slice(0, 16);
    return [[`${name}.crt`, certificate] as const, [`${name}.key`, key] as const];
  });
  return Object.fromEntries(entries);
}
