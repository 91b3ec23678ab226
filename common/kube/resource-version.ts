/**
 * Compares resource versions: since Kubernetes 1.35 decimal numbers that grow with each write and are comparable across all objects of a
 * server; before, they were so in practice. If one of the two is not decimal, neither counts as older.
 */
export function isOlder(version: string, other: string): boolean {
  if (!DECIMAL.test(version) || !DECIMAL.test(other)) return false;
  // Without leading zeros the longer number is larger, and numbers of the same length compare like text.
  return version.length === other.length ? version < other : version.length < other.length;
}

const DECIMAL = /^(?:0|[1-9]\d*)$/;
