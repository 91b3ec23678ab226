const REDACTED = "[redacted]";

/**
 * What looks like a secret, wherever in a line it stands. Nothing of ours writes one; but an answer of a gateway, or a message of a library,
 * may repeat what it was sent.
 */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Parts of base64url, the first of which is JSON: a JWT, such as every token of a service account, or the begin of one that was cut.
  [/eyJ[\w-]{6,}(?:\.[\w-]*){1,2}/g, REDACTED],
  [/\b(Bearer|Basic) +[\w.~+/=-]{4,}/gi, `$1 ${REDACTED}`],
  // `https://user:password@host`
  [/([a-z][\w+.-]*:\/\/)[^/\s"@\\]+@/gi, `$1${REDACTED}@`],
  // `password=…`, `"token":"…"`, also where the quotes are escaped.
  [
    /\b((?:[\w-]*(?:password|passwd|secret|token|credentials?|(?:access|api|account)[_-]?key)|pass)(?:=|\\*" *: *\\*"))[^\s"\\,;&]+/gi,
    `$1${REDACTED}`,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gs, REDACTED],
];

/** The text without what looks like a secret. What is to be shortened goes through it first: half a secret no longer looks like one. */
export function redact(text: string): string {
  return SECRETS.reduce((line, [pattern, replacement]) => line.replace(pattern, replacement), text);
}
