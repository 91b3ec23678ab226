const REDACTED = "[redacted]";

/**
 * What looks like a secret, anywhere in a line. Mooring writes no secrets, but an answer of a gateway, or a library's message, may repeat
 * what it was sent. Each pattern begins with a fixed text that cannot occur in what it matches next, or consumes all that it matches: so
 * its time is proportional to the length of the line, which may come from outside (`test/unit/tooling/linear-patterns.test.ts`).
 */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(Bearer|Basic) +[\w.~+/=-]{4,}/gi, `$1 ${REDACTED}`],
  // `https://user:password@host`
  [/:\/\/[^/\s"@\\]+@/g, `://${REDACTED}@`],
  // `password=…`, `"token":"…"`, also with escaped quotes.
  [
    /((?:password|passwd|secret|token|credentials?|(?:access|api|account)[_-]?key|(?<![\w-])pass)(?:=|\\*" *: *\\*"))[^\s"\\,;&]+/gi,
    `$1${REDACTED}`,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gs, REDACTED],
];

/** Replaces what looks like a secret. Call this before shortening a text: half a secret no longer looks like one. */
export function redact(text: string): string {
  // Texts with dots are checked one by one: no pattern finds a token within a text without trying each character.
  const plain = text.includes("eyJ") ? text.replace(/[\w.-]+/g, withoutToken) : text;
  return SECRETS.reduce((line, [pattern, replacement]) => line.replace(pattern, replacement), plain);
}

/** The shortest first part of a token that is redacted. */
const SHORTEST_HEAD = 9;

/**
 * A JWT, such as a service account's token, or the start of one that was cut: parts of base64url, the first of which is JSON. Everything up
 * to the next white space is redacted with it.
 */
function withoutToken(word: string): string {
  for (let dot = word.indexOf("."), from = 0; dot >= 0; from = dot + 1, dot = word.indexOf(".", from)) {
    const begin = word.slice(from, dot).indexOf("eyJ");
    if (begin >= 0 && dot - from - begin >= SHORTEST_HEAD) return word.slice(0, from + begin) + REDACTED;
  }
  return word;
}
