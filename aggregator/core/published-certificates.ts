/** The validity of a certificate. Times in milliseconds since the epoch. */
interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A published certificate, by the key that it has in the ConfigMap. */
export interface PublishedCertificate extends Validity {
  readonly key: string;
}

/** Certificates are valid from so long before they are made, as the clock of a node may be far behind. Milliseconds. */
export const BACKDATED_MS = 30 * 86_400_000;

/** How a key of the ConfigMap ends; the policy admits no other. */
export const KEY_END = ".crt";

/** The share of its life after which a certificate is made anew: a third is left to notice a failure. */
const RENEWED_AFTER = 2 / 3;

/** So many entries are far from the limit of an object's size, and more than there are new pods in the life of a certificate. */
const MOST_ENTRIES = 256;

/** Whether a certificate has to be made anew. It is also not valid yet where the clock was wrong when it was made. */
export function isDue({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  const madeAt = notBeforeMs + BACKDATED_MS;
  return nowMs < notBeforeMs || nowMs >= madeAt + Math.max(0, notAfterMs - madeAt) * RENEWED_AFTER;
}

/** The keys of what other replicas published that stay: not those that have expired, and of too many the newest. */
export function keptKeys(published: readonly PublishedCertificate[], own: string, nowMs: number): readonly string[] {
  return published
    .filter(({ key, notAfterMs }) => key !== own && key.endsWith(KEY_END) && nowMs < notAfterMs)
    .toSorted((one, other) => other.notBeforeMs - one.notBeforeMs)
    .slice(0, MOST_ENTRIES - 1)
    .map(({ key }) => key);
}
