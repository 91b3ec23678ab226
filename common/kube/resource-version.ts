/**
 * Resource versions are decimal numbers that grow with each write, comparable across all objects of a server, since Kubernetes
 * 1.35, and were so in practice before. Of two that are not both decimal nothing is known: neither is older.
 */
export function isOlder(version: string, other: string): boolean {
  if (!DECIMAL.test(version) || !DECIMAL.test(other)) return false;
  // Without leading zeros the longer one is the larger one, and of two equally long ones text order is number order.
  return version.length === other.length ? version < other : version.length < other.length;
}

const DECIMAL = /^(?:0|[1-9]\d*)$/;
