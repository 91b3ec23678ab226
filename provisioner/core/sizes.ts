/** The size of an image is a multiple of this. Bytes. */
export const UNIT_BYTES = 2 ** 20;
/** The limits of the protocol. Bytes. */
export const LARGEST_BYTES = 2 ** 46;

/** The size of an image for a request of this size. */
export function imageBytes(requested: number): number {
  return Math.max(UNIT_BYTES, Math.ceil(requested / UNIT_BYTES) * UNIT_BYTES);
}

/** The largest whole image that fits into the free bytes. */
export function wholeUnits(bytes: number): number {
  return Math.floor(bytes / UNIT_BYTES) * UNIT_BYTES;
}

const SUFFIXES = ["Ki", "Mi", "Gi", "Ti"] as const;

/** Bytes as a quantity of the API, exact and in the API server's own form: `5Gi`, `1500Mi`, `0`. */
export function quantityOf(bytes: number): string {
  let [number, suffix] = [bytes, ""];
  for (const next of SUFFIXES) {
    if (number === 0 || number % 1024 !== 0) break;
    [number, suffix] = [number / 1024, next];
  }
  return `${number}${suffix}`;
}
