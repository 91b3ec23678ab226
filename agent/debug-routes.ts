import type { Route } from "../common/runtime/http-server.ts";

/** What somebody on this very node can ask; each is made anew for each request. */
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
