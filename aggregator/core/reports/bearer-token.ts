/** A service account's token has about 1,200 characters. */
const LONGEST = 8_192;

/**
 * The token in an `authorization` header; undefined where it cannot be a service account's: three parts of base64url (RFC 7515). So
 * other texts cost no review.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization?.slice(0, LONGEST + 1) ?? "");
  const token = match?.[1];
  return authorization === undefined || authorization.length > LONGEST ? undefined : token;
}

/**
 * When a token expires, milliseconds since the epoch; undefined where it does not say so. Nothing is verified here: the caller asks only
 * of tokens that the API server has accepted.
 */
export function tokenExpiry(token: string): number | undefined {
  const { exp } = claimsOf(token);
  return typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/** UID of the pod that a token claims to be bound to (k8s.io/kubernetes: pkg/serviceaccount/claims.go). Not verified. */
export function claimedPodUid(token: string): string | undefined {
  const uid = fieldOf(fieldOf(claimsOf(token)["kubernetes.io"], "pod"), "uid");
  return typeof uid === "string" && uid.length <= 128 ? uid : undefined;
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null ? { ...claims } : {};
  } catch {
    return {};
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
