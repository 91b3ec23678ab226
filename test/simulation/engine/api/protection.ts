import { finalizersOf, PVC_PROTECTION } from "./deletion.ts";
import { at, textAt } from "./json.ts";
import type { ApiObject, Json } from "./objects.ts";
import { forbidden, type Refused } from "./refusals.ts";
import type { Unversioned } from "./store.ts";

/** What the policies of manifests/components/protection-* do with the write that removes a deleted claim. */
export type ProtectionMode = "off" | "audit" | "enforce";

const POLICY = "mooring-protection.mooring.dev";
const FORCE_RELEASE = "mooring.dev/force-release";
/** An override names its claim by this many characters of the UID. */
export const TOKEN_LENGTH = 8;

/** Why the policy refuses an update, in the words of manifests/components/protection-audit/policies.yaml; undefined where it admits it. */
export function vetoOf(previous: ApiObject, object: Unversioned): Refused | undefined {
  if (!takesProtectionAway(previous, object) || !isProtected(previous) || isForced(previous)) return undefined;
  const { namespace, name } = previous.metadata;
  return forbidden(POLICY, `the volume of claim ${namespace}/${name} is in use: ${messageOf(previous)}`);
}

function takesProtectionAway(previous: ApiObject, object: Unversioned): boolean {
  return finalizersOf(previous).includes(PVC_PROTECTION) && !finalizersOf(object).includes(PVC_PROTECTION);
}

/** The stored claim is bound and has a condition of Mooring that protects it. */
export function isProtected(claim: ApiObject): boolean {
  return textAt(claim, "status", "phase") === "Bound" && protectingConditions(claim).length > 0;
}

/** The stored claim carries the override for its own UID. */
export function isForced({ metadata }: ApiObject): boolean {
  return textAt(metadata, "annotations", FORCE_RELEASE).startsWith(metadata.uid.slice(0, TOKEN_LENGTH));
}

/** The conditions that protect a claim. */
export function protectingConditions(claim: ApiObject): readonly Json[] {
  const conditions = at(claim, "status", "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions.filter((one: Json) => {
    const [type, status] = [textAt(one, "type"), textAt(one, "status")];
    return (
      (type === "mooring.dev/Unused" && status === "False") || (type === "mooring.dev/Staged" && status === "True")
    );
  });
}

function messageOf(claim: ApiObject): string {
  return textAt(protectingConditions(claim)[0], "message");
}

/** The claim with the override; the caller chooses the value. */
export function withOverride(claim: ApiObject, value: string): ApiObject {
  const annotations = { ...claim.metadata.annotations, [FORCE_RELEASE]: value };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}
