/** The owner of a field: `manager` by an apply, or by another kind of write. */
export interface FieldOwner {
  readonly manager: string;
  readonly isApply: boolean;
}

/**
 * The owners of a field or of something below it, by an object's `metadata.managedFields`. `path` consists of keys of `fieldsV1`, such
 * as `f:status` or `k:{"type":"Unused"}` (structured-merge-diff's path elements). An entry that is not understood owns nothing.
 */
export function ownersOf(managedFields: unknown, path: readonly string[]): readonly FieldOwner[] {
  if (!Array.isArray(managedFields)) return [];
  const entries: readonly unknown[] = managedFields;
  return entries.flatMap((entry) => {
    const manager = member(entry, "manager");
    const isOwner = path.reduce(member, member(entry, "fieldsV1")) !== undefined;
    return isOwner && typeof manager === "string" ? [{ manager, isApply: member(entry, "operation") === "Apply" }] : [];
  });
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(key) : undefined;
}
