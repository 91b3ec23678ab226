const REDACTED = "[redacted]";

/**
 * What looks like a secret, wherever in a line it stands. Nothing of ours writes one; but an answer of a gateway, or a message of a library,
 * may repeat what it was sent. Each pattern begins with a fixed text that cannot occur in what it goes over next, or takes all that it goes
 * over: so it takes time in proportion to the line, which others may have written (`test/unit/tooling/linear-patterns.test.ts`).
 */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(Bearer|Basic) +[\w.~+/=-]{4,}/gi, `$1 ${REDACTED}`],
  // `https://user:password@host`
  [/:\/\/[^/\s"@\\]+@/g, `://${REDACTED}@`],
  // `password=…`, `"token":"…"`, also where the quotes are escaped.
  [
    /((?:password|passwd|secret|token|credentials?|(?:access|api|account)[_-]?key|(?<![\w-])pass)(?:=|\\*" *: *\\*"))[^\s"\\,;&]+/gi,
    `$1${REDACTED}`,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gs, REDACTED],
];

/** The text without what looks like a secret. What is to be shortened goes through it first: half a secret no longer looks like one. */
export function redact(text: string): string {
  // Words with dots are looked at one by one: no pattern finds a token in the middle of a word without trying each letter of it.
  const plain = text.includes("eyJ") ? text.replace(/[\w.-]+/g, withoutToken) : text;
  return SECRETS.reduce((line, [pattern, replacement]) => line.replace(pattern, replacement), plain);
}

/** The shortest first part of a token that is cut out. */
const SHORTEST_HEAD = 9;

/**
 * Parts of base64url, the first of which is JSON: a JWT, such as every token of a service account, or the begin of one that was cut. What follows
 * in the same word goes with it.
 */
function withoutToken(word: string): string {
  for (let dot = word.indexOf("."), from = 0; dot >= 0; from = dot + 1, dot = word.indexOf(".", from)) {
    const begin = word.slice(from, dot).indexOf("eyJ");
    if (begin >= 0 && dot - from - begin >= SHORTEST_HEAD) return word.slice(0, from + begin) + REDACTED;
  }
  return word;
}
