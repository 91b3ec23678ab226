import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { object, parse, string, unknown } from "valibot";
import { connect } from "../../common/kube/connection.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";

/** Sees every change of a claim when it is stored. */
export interface ClaimWatch {
  /** The newest resource version that was seen. */
  readonly resourceVersion: () => string;
  /** How many changes of claims have been seen. */
  readonly changes: () => number;
  /** Calls `see` for each further change, until the caller calls the returned function. */
  readonly listen: (see: Listener) => () => void;
}

/** `seenAt` is of the owner's monotonic clock. */
export type Listener = (claim: Claim, seenAt: number, isGone: boolean) => void;

const CLAIMS = "/api/v1/persistentvolumeclaims";

const listHead = object({ metadata: object({ resourceVersion: string() }) });
const watchEvent = object({ type: string(), object: unknown() });
const versioned = object({ metadata: object({ resourceVersion: string() }) });

/** Its own watch: the measured client must not measure itself. It begins with the next write. */
export async function watchClaims(owner: Owner, plane: ControlPlane): Promise<ClaimWatch> {
  const { clock, signal } = owner;
  const { transport } = await connect({ inCluster: false, kubeconfig: plane.kubeconfig }, {});
  owner.defer(() => transport.close());
  const listeners = new Set<Listener>();
  const head = parse(listHead, JSON.parse((await plane.api({ path: `${CLAIMS}?limit=1` })).text));
  let { resourceVersion } = head.metadata;
  let changes = 0;
  const take = (line: string): void => {
    const seenAt = clock.monotonicMs();
    const event = parse(watchEvent, JSON.parse(line));
    if (event.type === "ERROR") throw new HarnessError(`the watch of claims ended: ${line}`);
    ({ resourceVersion } = parse(versioned, event.object).metadata);
    if (event.type === "BOOKMARK") return;
    changes += 1;
    const claim = projectClaim(event.object);
    for (const see of listeners) see(claim, seenAt, event.type === "DELETED");
  };
  const follow = async (): Promise<void> => {
    const path = `${CLAIMS}?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    const response = await transport.send({ method: "GET", path, headers: { accept: "application/json" } }, signal);
    for await (const line of createInterface({ input: Readable.from(response.body) })) take(line);
  };
  const read = async (): Promise<void> => {
    // A busy API server drops slow readers: events then arrive late, and none is lost.
    while (!signal.aborted) await follow();
  };
  // A watch that breaks ends the run: its measurements do not count.
  void read().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    resourceVersion: () => resourceVersion,
    changes: () => changes,
    listen: (see) => {
      listeners.add(see);
      return () => void listeners.delete(see);
    },
  };
}
