/** What the API server says of a token: absent parts are empty. */
export interface TokenVerdict {
  readonly isAuthenticated: boolean;
  /** Those of the asked ones that the token is for. */
  readonly audiences: readonly string[];
  readonly userName: string;
  /** What else is known of the user, such as which pod the token was made for. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The service account of the agents: who has it is an agent, in whatever words anybody else says to be one. */
export interface AgentAccount {
  readonly namespace: string;
  readonly account: string;
}

/** Whose tokens count, and for whom they are made. */
export interface ReporterRule extends AgentAccount {
  readonly audience: string;
}

/** Who a token speaks for. */
export type Reporter =
  | { readonly kind: "agent"; readonly node: string; readonly podUid: string }
  /** Nobody that the API server knows. */
  | { readonly kind: "unauthenticated"; readonly why: string }
  /** Somebody, but no agent. */
  | { readonly kind: "forbidden"; readonly why: string };

/** k8s.io/apiserver: pkg/authentication/serviceaccount/util.go. The API server states both for tokens that are bound to a pod on a node. */
const NODE_NAME = "authentication.kubernetes.io/node-name";
const POD_UID = "authentication.kubernetes.io/pod-uid";

/**
 * Who reports, by the API server's word on the token. A token that is not bound to a pod on a node speaks for no node, and one that is
 * good for another audience, such as the API server itself, may have been given to somebody else.
 */
export function reporterOf(
  { isAuthenticated, audiences, userName, extra }: TokenVerdict,
  { audience, namespace, account }: ReporterRule,
): Reporter {
  if (!isAuthenticated) return { kind: "unauthenticated", why: "the API server does not know this token" };
  if (!audiences.includes(audience))
    return { kind: "unauthenticated", why: `the token is not for the audience ${audience}` };
  if (userName !== `system:serviceaccount:${namespace}:${account}`)
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
