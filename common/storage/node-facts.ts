import * as v from "valibot";

/** Short and printable: it comes from files that others write, and is shown to people. */
const text = v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,128}$/));

/** The schema of `NodeFacts`. */
export const nodeFacts = v.strictObject({
  /** Release of the running kernel. */
  kernel: v.optional(text),
  architecture: v.optional(text),
  /** Name and version; unknown to an agent in a container, which sees only its own image. */
  distribution: v.optional(text),
  containerRuntime: v.optional(text),
  cgroup: v.optional(v.picklist(["v1", "v2", "hybrid"])),
  selinux: v.optional(v.boolean()),
  apparmor: v.optional(v.boolean()),
  /** Whether the mount table is that of the agent's own mount namespace or of another one. */
  mountNamespace: v.optional(v.picklist(["own", "other"])),
});

/** What kind of node it is. Unknown facts are missing; no decision depends on any. */
export type NodeFacts = v.InferOutput<typeof nodeFacts>;

/** A fact that may be shown; undefined when it is too long, empty or not printable. */
export function factText(value: unknown): string | undefined {
  const result = v.safeParse(text, typeof value === "string" ? value.trim() : value);
  return result.success ? result.output : undefined;
}
