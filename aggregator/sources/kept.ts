/** All that a value says, what it need not say included: what keeps it in another form must leave out nothing. */
export type Whole<T> = { readonly [Key in keyof Required<T>]: T[Key] };

const LONGEST_SHARED = 10;

/**
 * The same text on its own. JSON.parse enters texts of ten characters and less into V8's table of texts that are shared, where each takes 16
 * bytes more: resource versions, of which no two objects have the same one.
 */
export function ownText(text: string): string {
  return text.length > LONGEST_SHARED ? text : ` ${text}`.slice(1);
}

/** Times of the API are whole seconds: those fit into the field itself, where milliseconds take 16 bytes more. */
export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

/** The same milliseconds again, also of a time that is no whole second. */
export function millisecondsOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000);
}
