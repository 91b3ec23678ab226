import type { Metrics } from "../../common/runtime/metrics.ts";
import type { PoolState } from "../protocol.ts";
import type { Keeper } from "./keeper.ts";

/** A keeper whose requests are counted, and which remembers the pools as they were told last. */
export interface CountedKeeper extends Keeper {
  readonly lastPools: () => readonly PoolState[] | undefined;
}

/** Counts the requests by what came of them: eight verbs and seven outcomes at most. */
export function countRequests({ metrics }: { readonly metrics: Metrics }, keeper: Keeper): CountedKeeper {
  const requests = metrics.counter({
    name: "mooring_keeper_requests_total",
    help: "Requests of the provisioner, by verb and outcome: done, or the code of the refusal.",
    labels: ["verb", "outcome"],
  });
  let last: readonly PoolState[] | undefined;
  return {
    pools: keeper.pools,
    lastPools: () => last,
    answer: async (request) => {
      const reply = await keeper.answer(request);
      requests.increment({ verb: request.verb, outcome: reply.ok ? "done" : reply.code });
      if (reply.ok && "pools" in reply) last = reply.pools;
      return reply;
    },
  };
}
