import type { V1ClusterRole, V1Role } from "@kubernetes/client-node";

/** Each right as a line: `where: verb group/resource name`. */
export function rightsOf({ metadata, rules = [] }: V1ClusterRole | V1Role): readonly string[] {
  return (rules ?? []).flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [""] }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.map((name) =>
            `${metadata?.namespace ?? "everywhere"}: ${verb} ${group === "" ? "" : `${group}/`}${resource} ${name}`.trim(),
          ),
        ),
      ),
    ),
  );
}
