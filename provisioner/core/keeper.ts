import type { KeeperRefusal, KeeperRequest, ReplyOf } from "../protocol.ts";

/** No usable reply came. The keeper may or may not have carried out the request; every request may be sent again. */
export interface KeeperAway {
  readonly ok: false;
  readonly code: "keeper-away";
  readonly message: string;
}

/** The keeper of this node, which runs as root. */
export interface Keeper {
  /** Never rejects. */
  readonly ask: <Request extends KeeperRequest>(
    request: Request,
    signal: AbortSignal,
  ) => Promise<ReplyOf<Request["verb"]> | KeeperRefusal | KeeperAway>;
}
