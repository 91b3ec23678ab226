import { compareText } from "./compare-text.ts";

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
export interface ServingCertificate extends Validity {
  /** The CA that signed it. */
  readonly signedBy: string;
  /** Sorted. */
  readonly names: readonly string[];
  /** The CA of the previous certificate, and until when a replica may still serve that one. */
  readonly previous: PreviousAuthority | undefined;
}

/** A CA that signs no more. */
export interface PreviousAuthority {
  readonly id: string;
  readonly untilMs: number;
}

/** Everything that is stored. What cannot be read, or has no key that fits, is left out. */
export interface StoredCertificates {
  /** The CAs that can sign. */
  readonly authorities: readonly Authority[];
  /** The CAs that agents are told to trust, in the stored order. */
  readonly trusted: readonly Authority[];
  /** Since when all of them have been stored. */
  readonly completeSinceMs: number | undefined;
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
  const { signedBy, previous } = serving;
  if (!trusted.some(({ id }) => id === signedBy))
    return { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const own = [...authorities.map(({ id }) => id), signedBy, previous?.id];
  if (trusted.every(({ id }) => own.includes(id))) return undefined;
  return { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
}

/** Durations, milliseconds. */
export interface CertificateTimes {
  readonly authorityMs: number;
  readonly certificateMs: number;
  /** How long agents may take to see a new CA: the aggregator serves nothing signed by a CA before agents could trust it for so long. */
  readonly overlapMs: number;
}

/** The next step. */
export type CertificatePlan =
  | { readonly kind: "keep" }
  /** Create a CA, and store it. */
  | { readonly kind: "issue-authority" }
  /** Tell agents to trust exactly these. */
  | { readonly kind: "publish"; readonly trusted: readonly string[]; readonly completeSinceMs: number }
  /** Serve a new certificate, signed by this CA. */
  | {
      readonly kind: "issue-certificate";
      readonly authority: string;
      readonly previous: PreviousAuthority | undefined;
    }
  /** Delete the keys of CAs that will not sign again. */
  | { readonly kind: "drop-authorities"; readonly kept: readonly string[] };

/** Certificates are valid from so long before they are issued, as the clocks of nodes differ. Milliseconds. */
export const BACKDATED_MS = 3_600_000;

/** The bound of the API server's clock becomes narrower over time, so that its latest moment may come again. Milliseconds. */
const CLOCK_SLACK_MS = 60_000;

/** The share of its life after which a certificate is renewed: a third is left to notice a failure. */
const RENEWED_AFTER = 2 / 3;

/** When the certificate is due for renewal. */
function renewalAt({ notBeforeMs, notAfterMs }: Validity): number {
  const issuedAt = notBeforeMs + BACKDATED_MS;
  return issuedAt + Math.max(0, notAfterMs - issuedAt) * RENEWED_AFTER;
}

/** Whether a certificate is valid at a moment. */
export function isValidAt({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

/**
 * The next step, so that agents, which learn late what to trust, never see a certificate that they do not trust. A new CA is published
 * first and signs only after the overlap; the old one stays trusted until no replica serves what it signed. Called again after each
 * step, it comes to "keep" after at most five. `nowMs` is the API server's clock, `names` are sorted.
 */
export function certificatePlan(
  nowMs: number,
  stored: StoredCertificates,
  { times, names }: { readonly times: CertificateTimes; readonly names: readonly string[] },
): CertificatePlan {
  const usable = stored.authorities
    .filter((one) => isValidAt(one, nowMs))
    .toSorted((one, other) => one.notBeforeMs - other.notBeforeMs || compareText(one.id, other.id));
  const newest = usable.at(-1);
  if (newest === undefined || nowMs >= renewalAt(newest)) return { kind: "issue-authority" };
  return (
    publication(nowMs, stored, usable) ??
    renewal(nowMs, stored, { usable, newest, times, names }) ??
    tidying(stored, newest)
  );
}

/**
 * The CAs that agents have to trust: those that can sign, the one that signed what is served, and the one of the certificate before
 * that.
 */
function publication(
  nowMs: number,
  { trusted, completeSinceMs, serving }: StoredCertificates,
  usable: readonly Authority[],
): CertificatePlan | undefined {
  const isUsable = (id: string): boolean => usable.some((one) => one.id === id);
  const isNeeded = (id: string): boolean =>
    serving?.signedBy === id || (serving?.previous?.id === id && nowMs < serving.previous.untilMs);
  // A CA whose key was lost stays trusted while what it signed is served.
  const keyless = trusted.filter((one) => !isUsable(one.id) && isNeeded(one.id) && isValidAt(one, nowMs));
  const wanted = [...keyless, ...usable].map(({ id }) => id);
  const published = trusted.map(({ id }) => id);
  const isKnownSince = completeSinceMs !== undefined && completeSinceMs <= nowMs + CLOCK_SLACK_MS;
  if (isKnownSince && isSame(wanted, published)) return undefined;
  const isGain = wanted.some((id) => !published.includes(id));
  return { kind: "publish", trusted: wanted, completeSinceMs: isKnownSince && !isGain ? completeSinceMs : nowMs };
}

interface Signing {
  /** Oldest first. */
  readonly usable: readonly Authority[];
  readonly newest: Authority;
  readonly times: CertificateTimes;
  readonly names: readonly string[];
}

function renewal(
  nowMs: number,
  { serving, trusted, completeSinceMs = nowMs }: StoredCertificates,
  { usable, newest, times, names }: Signing,
): CertificatePlan | undefined {
  const isRipe = nowMs >= completeSinceMs + times.overlapMs;
  const present = usable.find(({ id }) => id === serving?.signedBy);
  const isGood =
    serving !== undefined && isValidAt(serving, nowMs) && trusted.some(({ id }) => id === serving.signedBy);
  if (isGood && isSame(serving.names, names)) {
    const isDue = nowMs >= renewalAt(serving);
    if (!(isRipe && serving.signedBy !== newest.id) && !isDue) return undefined;
    // What a lost key signed is served to its end: agents do not trust a new CA yet.
    const signer = isRipe ? newest : present;
    return signer && signing(signer, serving, nowMs + times.overlapMs);
  }
  // Without a valid certificate every agent is refused: most agents trust the CA that has been published for longest.
  return signing(isRipe ? newest : (present ?? usable[0] ?? newest), serving, nowMs + times.overlapMs);
}

/** After a change of CA, a replica may serve the certificate before until `untilMs`. */
function signing({ id }: Authority, serving: StoredCertificates["serving"], untilMs: number): CertificatePlan {
  const isSwitch = serving !== undefined && serving.signedBy !== id;
  const previous = isSwitch ? { id: serving.signedBy, untilMs } : serving?.previous;
  return { kind: "issue-certificate", authority: id, previous };
}

/** A key that is deleted cannot be stolen. */
function tidying({ authorities, serving }: StoredCertificates, newest: Authority): CertificatePlan {
  const kept = authorities.filter(({ id }) => id === newest.id || id === serving?.signedBy).map(({ id }) => id);
  return kept.length === authorities.length ? { kind: "keep" } : { kind: "drop-authorities", kept };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
