/** The validity of a certificate. Times in milliseconds since the epoch. */
interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A CA that signs, or signed, what the aggregator serves. */
export interface Authority extends Validity {
  /** SHA-256 of its certificate. */
  readonly id: string;
}

/** The certificate that agents see. */
interface ServingCertificate extends Validity {
  /** The CA that signed it; empty where it is not known. */
  readonly signedBy: string;
  /** Sorted. */
  readonly names: readonly string[];
}

/** Everything that is stored. What cannot be read, or has no key that fits, is left out. */
export interface StoredCertificates {
  /** The CAs that can sign. */
  readonly authorities: readonly Authority[];
  /** The CAs that agents are told to trust, in the stored order. */
  readonly trusted: readonly Authority[];
  readonly serving: ServingCertificate | undefined;
}

/** Agents are told to trust something else than what is served. */
export interface TrustProblem {
  /** Agents refuse what is served. */
  readonly isRefused: boolean;
  readonly why: string;
}

/** Compares what agents are told to trust with what is served; undefined where they agree, or where nothing is served yet. */
export function trustProblem({ authorities, trusted, serving }: StoredCertificates): TrustProblem | undefined {
  if (serving === undefined) return undefined;
  if (!trusted.some(({ id }) => id === serving.signedBy))
    return { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const own = [...authorities.map(({ id }) => id), serving.signedBy];
  if (trusted.every(({ id }) => own.includes(id))) return undefined;
  return { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
}

/** The next step. IDs are those of CAs. */
export type CertificatePlan =
  | { readonly kind: "keep" }
  /** Create a CA, and store it beside these. */
  | { readonly kind: "add-authority"; readonly kept: readonly string[]; readonly lifetimeMs: number }
  /** Tell agents to trust exactly these. */
  | { readonly kind: "publish"; readonly trusted: readonly string[] }
  /** Serve a new certificate, signed by this one. */
  | { readonly kind: "issue-certificate"; readonly authority: string };

/** Certificates are valid from so long before they are issued, as the clocks of nodes differ. Milliseconds. */
export const BACKDATED_MS = 3_600_000;

/** The share of its life after which a certificate is renewed: a third is left to notice a failure. */
const RENEWED_AFTER = 2 / 3;

function isDue({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  const issuedAt = notBeforeMs + BACKDATED_MS;
  return nowMs >= issuedAt + Math.max(0, notAfterMs - issuedAt) * RENEWED_AFTER;
}

/**
 * The next step, so that agents, which learn late what to trust, never see a certificate that they do not trust. There are always two
 * CAs that are not due: the one that ends first signs, and the other one, its successor, is published months before it signs. Called
 * again after each step, it comes to "keep" after at most five. `nowMs` is the API server's clock, `names` are sorted.
 */
export function certificatePlan(
  nowMs: number,
  { authorities, trusted, serving }: StoredCertificates,
  { names, authorityMs }: { readonly names: readonly string[]; readonly authorityMs: number },
): CertificatePlan {
  const isValid = ({ notBeforeMs, notAfterMs }: Validity): boolean => notBeforeMs <= nowMs && nowMs < notAfterMs;
  const idsOf = (some: readonly Authority[]): readonly string[] => some.map(({ id }) => id);
  const usable = authorities.filter(isValid).toSorted((one, other) => one.notAfterMs - other.notAfterMs);
  const fresh = usable.filter((one) => !isDue(one, nowMs));
  const published = idsOf(trusted.filter(isValid));

  const isPublished = ({ id }: Authority): boolean => published.includes(id);
  // What agents are not told to trust yet signs only after the steps that tell them.
  const signer = fresh.find(isPublished) ?? usable.findLast(isPublished);
  const isGood = serving !== undefined && isValid(serving) && !isDue(serving, nowMs) && isSame(serving.names, names);
  if (signer !== undefined && !(isGood && published.includes(serving.signedBy)))
    return { kind: "issue-certificate", authority: signer.id };

  const kept = idsOf(usable);
  // Two that are made together must not be due together.
  const lifetimeMs = fresh.length === 0 ? authorityMs / 2 : authorityMs;
  if (fresh.length < 2) return { kind: "add-authority", kept, lifetimeMs };

  // A CA whose key was lost stays trusted while what it signed is served.
  const keyless = published.filter((id) => id === serving?.signedBy && !kept.includes(id));
  const wanted = [...keyless, ...kept];
  return isSame(wanted, idsOf(trusted)) ? { kind: "keep" } : { kind: "publish", trusted: wanted };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
