/** By UTF-16 code units, so that the order does not depend on the machine's language. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
