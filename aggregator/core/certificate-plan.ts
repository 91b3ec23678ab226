/** What a certificate says of itself. Times in milliseconds since the epoch. */
export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** An authority that signs or signed what the aggregator serves. */
export interface Authority extends Validity {
  /** SHA-256 of its certificate. */
  readonly id: string;
}

/** The certificate that agents see. */
export interface ServingCertificate extends Validity {
  /** The authority whose signature it carries. */
  readonly signedBy: string;
  /** Sorted. */
  readonly names: readonly string[];
  /** Who signed the one before, and until when it may still be served somewhere. */
  readonly previous: PreviousAuthority | undefined;
}

/** An authority that signs no more. */
export interface PreviousAuthority {
  readonly id: string;
  readonly untilMs: number;
}

/** All that is stored. What cannot be read, or whose key is missing or does not fit, is not there. */
export interface StoredCertificates {
  /** Those that can sign. */
  readonly authorities: readonly Authority[];
  /** What agents are told to trust, in the order in which they are told. */
  readonly trusted: readonly Authority[];
  /** Since when they have been told all of it. */
  readonly completeSinceMs: number | undefined;
  readonly serving: ServingCertificate | undefined;
}

/** Where agents are told to trust something else than what is served. */
export interface TrustProblem {
  /** Agents refuse what is served. */
  readonly isRefused: boolean;
  readonly why: string;
}

/** Compares what agents are told to trust with what is served; nothing where they agree, or where nothing is served yet. */
export function trustProblem({ authorities, trusted, serving }: StoredCertificates): TrustProblem | undefined {
  if (serving === undefined) return undefined;
  const { signedBy, previous } = serving;
  if (!trusted.some(({ id }) => id === signedBy))
    return { isRefused: true, why: "agents are not told to trust the authority that signed the certificate" };
  const own = [...authorities.map(({ id }) => id), signedBy, previous?.id];
  if (trusted.every(({ id }) => own.includes(id))) return undefined;
  return { isRefused: false, why: "agents are told to trust an authority that is not Mooring's" };
}

/** How long things last, milliseconds. */
export interface CertificateTimes {
  readonly authorityMs: number;
  readonly certificateMs: number;
  /** How long agents may take to see what they are to trust: nothing signed by an authority is served before it has been told for so long. */
  readonly overlapMs: number;
}

/** The one thing to do next. */
export type CertificatePlan =
  | { readonly kind: "keep" }
  /** Make a further authority, and store it. */
  | { readonly kind: "issue-authority" }
  /** Tell agents to trust exactly these. */
  | { readonly kind: "publish"; readonly trusted: readonly string[]; readonly completeSinceMs: number }
  /** Serve a new certificate, signed by this authority. */
  | {
      readonly kind: "issue-certificate";
      readonly authority: string;
      readonly previous: PreviousAuthority | undefined;
    }
  /** Forget keys of authorities that will not sign again. */
  | { readonly kind: "drop-authorities"; readonly kept: readonly string[] };

/** Certificates begin so long before they are made: clocks of nodes differ. Milliseconds. */
export const BACKDATED_MS = 3_600_000;

/** The API server's clock is bounded ever more narrowly, so that its latest moment may come again. Milliseconds. */
const CLOCK_SLACK_MS = 60_000;

/** Renewed after this share of its life: a third is left to notice that it failed. */
const RENEWED_AFTER = 2 / 3;

/** When it was made. */
function issuedAt({ notBeforeMs }: Validity): number {
  return notBeforeMs + BACKDATED_MS;
}

/** When it is due to be replaced. */
function renewalAt(validity: Validity): number {
  const madeAt = issuedAt(validity);
  return madeAt + Math.max(0, validity.notAfterMs - madeAt) * RENEWED_AFTER;
}

/** Whether a certificate counts at a moment. */
export function isValidAt({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

/**
 * What to do next so that agents, who learn late what to trust, never see a certificate that they do not trust: a new authority is told
 * first, signs only after the overlap, and the old one is trusted until nobody serves what it signed. Made anew after each step; it comes
 * to "keep" after at most five. `nowMs` is the API server's clock, `names` are sorted.
 */
export function certificatePlan(
  nowMs: number,
  stored: StoredCertificates,
  { times, names }: { readonly times: CertificateTimes; readonly names: readonly string[] },
): CertificatePlan {
  const usable = stored.authorities
    .filter((one) => isValidAt(one, nowMs))
    .toSorted((one, other) => one.notBeforeMs - other.notBeforeMs || (one.id < other.id ? -1 : 1));
  const newest = usable.at(-1);
  if (newest === undefined || nowMs >= renewalAt(newest)) return { kind: "issue-authority" };
  return (
    publication(nowMs, stored, usable) ??
    renewal(nowMs, stored, { usable, newest, times, names }) ??
    tidying(stored, newest)
  );
}

/** Whom agents are to trust: whoever can sign, who signed what is served, and who signed what was served until just now. */
function publication(
  nowMs: number,
  { trusted, completeSinceMs, serving }: StoredCertificates,
  usable: readonly Authority[],
): CertificatePlan | undefined {
  const isUsable = (id: string): boolean => usable.some((one) => one.id === id);
  const isNeeded = (id: string): boolean =>
    serving?.signedBy === id || (serving?.previous?.id === id && nowMs < serving.previous.untilMs);
  // An authority whose key was lost goes on to be trusted as long as what it signed is served.
  const keyless = trusted.filter((one) => !isUsable(one.id) && isNeeded(one.id) && isValidAt(one, nowMs));
  const wanted = [...keyless, ...usable].map(({ id }) => id);
  const told = trusted.map(({ id }) => id);
  const isKnownSince = completeSinceMs !== undefined && completeSinceMs <= nowMs + CLOCK_SLACK_MS;
  if (isKnownSince && wanted.length === told.length && wanted.every((id, index) => id === told[index]))
    return undefined;
  const isGain = wanted.some((id) => !told.includes(id));
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
    // What was signed by a lost key is served to its end rather than replaced by what agents do not trust yet.
    const signer = isRipe ? newest : present;
    return signer && signing(nowMs, { serving, signer, times });
  }
  // Without a good one every agent is refused: whoever has been told for longest is trusted by most.
  return signing(nowMs, { serving, signer: isRipe ? newest : (present ?? usable[0] ?? newest), times });
}

function signing(
  nowMs: number,
  {
    serving,
    signer,
    times,
  }: {
    readonly serving: ServingCertificate | undefined;
    readonly signer: Authority;
    readonly times: CertificateTimes;
  },
): CertificatePlan {
  const isSwitch = serving !== undefined && serving.signedBy !== signer.id;
  const previous = isSwitch ? { id: serving.signedBy, untilMs: nowMs + times.overlapMs } : serving?.previous;
  return { kind: "issue-certificate", authority: signer.id, previous };
}

/** A key that is not kept cannot be stolen. */
function tidying({ authorities, serving }: StoredCertificates, newest: Authority): CertificatePlan {
  const kept = authorities.filter(({ id }) => id === newest.id || id === serving?.signedBy).map(({ id }) => id);
  return kept.length === authorities.length ? { kind: "keep" } : { kind: "drop-authorities", kept };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
