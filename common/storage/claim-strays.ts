import {
  type ClaimStatus,
  hasUnusedSince,
  LAST_USE,
  MOUNTED_ON,
  type StatusFields,
  UNUSED_SINCE,
} from "./claim-status.ts";
import { ownersOf } from "./managed-fields.ts";
import { parseTimestamp } from "./timestamp.ts";

/** An annotation of Mooring's that contradicts the condition. */
export interface Stray {
  readonly annotation: string;
  /** `unwanted`: it should not exist. `wrong`: it should have another value, or exist at all. */
  readonly fault: "unwanted" | "wrong";
  /** Its field managers; empty when it is missing. */
  readonly managers: readonly string[];
}

/** The annotations that do not match the status beside them: another client copied, forged, changed or removed them. */
export function findStrays(
  status: ClaimStatus | undefined,
  { annotations, managedFields }: Pick<StatusFields, "annotations"> & { readonly managedFields: unknown },
): readonly Stray[] {
  const faults = [
    { annotation: UNUSED_SINCE, fault: faultOfSince(status, annotations[UNUSED_SINCE]) },
    { annotation: MOUNTED_ON, fault: faultOf(annotations[MOUNTED_ON], status?.mountedOn) },
    { annotation: LAST_USE, fault: faultOf(annotations[LAST_USE], status?.lastUse ?? status?.gap) },
  ];
  return faults.flatMap(({ annotation, fault }) => {
    if (fault === undefined) return [];
    const owners = ownersOf(managedFields, ["f:metadata", "f:annotations", `f:${annotation}`]);
    return [{ annotation, fault, managers: owners.map(({ manager }) => manager) }];
  });
}

function faultOf(text: string | undefined, meaning: unknown): Stray["fault"] | undefined {
  return text !== undefined && meaning === undefined ? "unwanted" : undefined;
}

function faultOfSince(status: ClaimStatus | undefined, text: string | undefined): Stray["fault"] | undefined {
  if (status === undefined || !hasUnusedSince(status)) return faultOf(text, undefined);
  return parseTimestamp(text) === status.sinceMs ? undefined : "wrong";
}
