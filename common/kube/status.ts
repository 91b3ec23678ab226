import * as v from "valibot";

/** One of the causes of a `Status`; missing members are empty. */
export interface StatusCause {
  /** Such as `FieldValueInvalid`, `FieldManagerConflict`, `ResourceVersionTooLarge`. */
  readonly reason: string;
  /** The field concerned, such as `metadata.uid`. */
  readonly field: string;
  readonly message: string;
}

/** The details of a `Status`: the object concerned, and the causes in machine-readable form. */
export interface StatusDetails {
  readonly name: string;
  readonly kind: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterSeconds: number | undefined;
}

/** The API server's report of a failure (meta/v1 `Status`), as a response body or as an event of a watch. */
export interface ApiStatus {
  readonly code: number | undefined;
  /** Such as `Conflict`, `Invalid`, `NotFound`, `Expired`; empty when there is none. */
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails;
}

const text = v.nullish(v.string(), "");
const cause = v.object({ reason: text, field: text, message: text });
const schema = v.object({
  kind: v.optional(v.literal("Status")),
  code: v.nullish(v.number()),
  reason: text,
  message: text,
  details: v.nullish(
    v.object({
      name: text,
      kind: text,
      causes: v.nullish(v.array(cause), []),
      retryAfterSeconds: v.nullish(v.number()),
    }),
    {},
  ),
});

/** Some messages quote the whole object: they are cut to this many characters. */
const LONGEST_MESSAGE = 1_000;

/** The machine-readable parts of a `Status`, with its message shortened; undefined when this is none. */
export function readStatus(value: unknown): ApiStatus | undefined {
  const status = v.safeParse(schema, value);
  if (!status.success) return undefined;
  const { code, reason, message, details } = status.output;
  if (code == null && reason === "" && message === "") return undefined;
  const { name, kind, causes, retryAfterSeconds } = details;
  return {
    code: code ?? undefined,
    reason,
    message: message.slice(0, LONGEST_MESSAGE),
    details: { name, kind, causes, retryAfterSeconds: retryAfterSeconds ?? undefined },
  };
}
