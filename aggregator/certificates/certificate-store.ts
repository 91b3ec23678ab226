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

/** What is stored at a moment, and the writes of the issuer. */
export type CertificateShelf = Awaited<ReturnType<typeof readCertificates>>;

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

/** Reads what is stored. A write fails where its object has changed since. All throw `MooringError`. */
export async function readCertificates(
  parts: Pick<KubeParts, "client" | "random">,
  { namespace, agentNamespace }: CertificatePlaces,
  signal: AbortSignal,
) {
  const load = async (place: ObjectPlace) => {
    const seen = await readTexts(parts.client, place, signal);
    const write = (content: Parameters<typeof writeTexts>[1]["content"]): Promise<void> =>
      writeTexts(parts, { place, seen, content }, signal);
    return { seen, write };
  };
  const [serving, authorities, bundle] = await Promise.all([
    load({ kind: "Secret", namespace, name: SERVING_SECRET }),
    load({ kind: "Secret", namespace, name: AUTHORITY_NAME }),
    load({ kind: "ConfigMap", namespace: agentNamespace, name: AUTHORITY_NAME }),
  ]);
  const pairs = authorityPairs(authorities.seen);
  const own = [...pairs.values()];
  const trusted = readBundle(bundle.seen?.texts[BUNDLE_FILE] ?? "");
  const known = [...own, ...trusted];
  const putAuthorities = (kept: readonly ServingPair[]): Promise<void> =>
    authorities.write({ texts: textsFor(kept), type: "Opaque" });
  const stored: StoredCertificates = {
    // The keys are left out, so that no log line can contain one.
    authorities: own.map(({ pair: _, ...authority }) => authority),
    trusted,
    completeSinceMs: numberOf(bundle.seen?.annotations[COMPLETE_SINCE]),
    serving: serving.seen && servingCertificate(serving.seen, known),
  };
  return {
    stored,
    /** A CA that can sign, by its ID. */
    signer: (id: string): ServingPair | undefined => pairs.get(id)?.pair,
    addAuthority: (authority: ServingPair) => putAuthorities([...own.map(({ pair }) => pair), authority]),
    keepAuthorities: (ids: readonly string[]) => putAuthorities(ids.flatMap((id) => pairs.get(id)?.pair ?? [])),
    publish: ({ trusted: ids, completeSinceMs }: Extract<CertificatePlan, { readonly kind: "publish" }>) =>
      bundle.write({
        texts: { [BUNDLE_FILE]: ids.map((id) => pemOf(known, id)).join("") },
        annotations: { [COMPLETE_SINCE]: String(completeSinceMs) },
      }),
    serve: ({ certificate, key }: ServingPair, previous: PreviousAuthority | undefined) =>
      serving.write({
        texts: { [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key },
        annotations: { [PREVIOUS]: previous === undefined ? null : JSON.stringify(previous) },
        type: "kubernetes.io/tls",
      }),
  };
}

/** CAs that can sign, by ID. Foreign entries in the Secret go with the next write. */
function authorityPairs(
  secret: TextObject | undefined,
): ReadonlyMap<string, Certificate & { readonly pair: ServingPair }> {
  const texts = secret?.texts ?? {};
  const found = Object.entries(texts).flatMap(([name, certificate]) => {
    if (!name.endsWith(".crt")) return [];
    const pair = { certificate, key: texts[name.replace(/crt$/, "key")] ?? "" };
    const read = readPair(pair);
    return read?.isAuthority && read.isSignedBy(read) ? [{ ...read, pair }] : [];
  });
  return new Map(found.map((one) => [one.id, one]));
}

function textsFor(pairs: readonly ServingPair[]): Readonly<Record<string, string>> {
  const entries = pairs.flatMap((pair): [string, string][] => {
    const name = readPair(pair)?.id.slice(0, 16);
    if (name === undefined) return [];
    return Object.entries({ [`${name}.crt`]: pair.certificate, [`${name}.key`]: pair.key });
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
