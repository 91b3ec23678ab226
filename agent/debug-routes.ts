import type { Route } from "../common/runtime/http-server.ts";

/** What a client on this node can read; made anew for each request. */
export function debugRoutes(answers: Readonly<Record<string, () => object>>): readonly Route[] {
  return Object.entries(answers).map(([name, describe]) => ({
    method: "GET",
    path: `/debug/${name}`,
    answer: () => ({
      status: 200,
      body: `${JSON.stringify(describe(), undefined, 2)}\n`,
      contentType: "application/json",
    }),
  }));
}
