/** The status of a TokenReview. */
export interface TokenVerdict {
  readonly authenticated: boolean;
  /** Those of the requested audiences that the token is for. */
  readonly audiences: readonly string[];
  /** `extra` names the pod that the token is bound to. */
  readonly user: { readonly username: string; readonly extra: Readonly<Record<string, readonly string[]>> };
}

/** The service account of the agents: the only proof that the caller is an agent. */
export interface AgentAccount {
  readonly namespace: string;
  readonly account: string;
}

/** The audience of agents' tokens: no other server accepts these, and no other tokens are accepted here. */
export const AUDIENCE = "mooring-aggregator";

/** The pod and node that a token speaks for. */
export type Reporter =
  | { readonly kind: "agent"; readonly node: string; readonly podUid: string }
  /** The API server does not accept the token. */
  | { readonly kind: "unauthenticated"; readonly why: string }
  /** The user is no agent. */
  | { readonly kind: "forbidden"; readonly why: string };

/** Of tokens that are bound to a pod on a node (k8s.io/apiserver: pkg/authentication/serviceaccount/util.go). */
const NODE_NAME = "authentication.kubernetes.io/node-name";
const POD_UID = "authentication.kubernetes.io/pod-uid";

/**
 * Who reports, by the API server's review. A token that is bound to no pod on a node speaks for no node. One that is
 * also valid for another audience, such as the API server, may have been given to another program.
 */
export function reporterOf(
  { authenticated, audiences, user: { username, extra } }: TokenVerdict,
  { namespace, account }: AgentAccount,
): Reporter {
  if (!authenticated) return { kind: "unauthenticated", why: "the API server does not know this token" };
  if (!audiences.includes(AUDIENCE))
    return { kind: "unauthenticated", why: `the token is not for the audience ${AUDIENCE}` };
  if (username !== `system:serviceaccount:${namespace}:${account}`)
    return { kind: "forbidden", why: `the token is not one of the service account ${namespace}/${account}` };
  const [node, podUid] = [onlyOne(extra[NODE_NAME]), onlyOne(extra[POD_UID])];
  if (podUid === undefined) return { kind: "forbidden", why: "the token is not bound to a pod" };
  if (node === undefined) return { kind: "forbidden", why: "the token's pod is on no node" };
  return { kind: "agent", node, podUid };
}

function onlyOne(values: readonly string[] | undefined): string | undefined {
  const [value] = values ?? [];
  return values?.length === 1 && value !== "" ? value : undefined;
}

/** A service account's token has about 1,200 characters. */
const LONGEST = 8_192;

/** The token in an `authorization` header, if it may be a service account's (RFC 7515): other texts cost no review. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > LONGEST) return undefined;
  return /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization)?.[1];
}
