import { absent, applies, creation, owners, preconditions } from "./claims.ts";
import { deletions, freeDeletions } from "./deletions.ts";
import { leases, lists, rest, watches } from "./others.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { type Seen, Session } from "./session.ts";

/** Sends a server all requests that Mooring makes, valid and invalid, step by step. */
export async function runScript(server: ServerUnderTest): Promise<readonly Seen[]> {
  const session = new Session(server);
  for (const part of [
    creation,
    applies,
    owners,
    preconditions,
    absent,
    leases,
    lists,
    watches,
    deletions,
    freeDeletions,
    rest,
  ])
    await part(session);
  return session.seen;
}
