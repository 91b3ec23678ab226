import type { Route } from "../../common/runtime/http-server.ts";
import type { NodeList } from "../core/node-list.ts";

/** `GET /v1/nodes`: what is known of every node, for people and their tools. Nothing can be listed before the cluster has been. */
export function nodesRoute(list: () => NodeList | undefined): Route {
  return {
    method: "GET",
    path: "/v1/nodes",
    answer: () => {
      const nodes = list();
      if (nodes === undefined) return { status: 503, body: "the cluster has not been listed yet\n" };
      return { status: 200, body: `${JSON.stringify(nodes, undefined, 2)}\n`, contentType: "application/json" };
    },
  };
}
