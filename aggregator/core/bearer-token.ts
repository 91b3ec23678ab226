/** A service account's token has about 1,200 characters. */
const LONGEST = 8_192;

/**
 * The token of an `authorization` header, or nothing where it cannot be a service account's: three parts of base64url (RFC 7515),
 * which keeps what is no token from costing a review.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization?.slice(0, LONGEST + 1) ?? "");
  const token = match?.[1];
  return authorization === undefined || authorization.length > LONGEST ? undefined : token;
}

/**
 * When a token ends, milliseconds since the epoch; nothing where it does not say so. It is not proven here: only what the API server
 * has called good may be asked.
 */
export function tokenExpiry(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null || !("exp" in claims)) return undefined;
    return typeof claims.exp === "number" && Number.isFinite(claims.exp) ? claims.exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
