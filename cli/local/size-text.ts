const UNITS = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

/** A size for people, rounded down: `512Mi`, `1.5Gi`. */
export function sizeText(bytes: number): string {
  let [number, suffix] = [bytes, ""];
  for (const unit of UNITS) {
    if (number < 1024) break;
    [number, suffix] = [number / 1024, unit];
  }
  return `${number < 10 ? Math.floor(number * 10) / 10 : Math.floor(number)}${suffix}`;
}
