import type { Metrics } from "../common/runtime/metrics.ts";
import type { Keeper } from "./core/keeper.ts";

/** Counts requests to the keeper by outcome. Counted here, because the keeper's own metrics cannot be reached from outside the pod. */
export function countRequests(metrics: Metrics, keeper: Keeper): Keeper {
  const requests = metrics.counter({
    name: "mooring_keeper_requests_total",
    help: "Requests to the keeper of this node, by verb and outcome: done, the code of its refusal, or keeper-away.",
    labels: ["verb", "outcome"],
  });
  return {
    ask: async (request, signal) => {
      const reply = await keeper.ask(request, signal);
      requests.increment({ verb: request.verb, outcome: reply.ok ? "done" : reply.code });
      return reply;
    },
  };
}
