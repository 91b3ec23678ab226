import type { RouteAnswer } from "../../common/runtime/http-answer.ts";
import { createRouter, type Listen } from "../../common/runtime/http-server.ts";

/** Servers without a network: a test asks their routes directly. */
export interface FakeListen {
  readonly listen: Listen;
  /** The answer of the first server that is open and knows the path, its rest included. */
  readonly get: (target: string) => Promise<RouteAnswer>;
  /** The same, of a PUT with a body, which may come later. */
  readonly put: (target: string, body: string | Promise<string>) => Promise<RouteAnswer>;
}

export function createFakeListen(): FakeListen {
  const open = new Set<ReturnType<typeof createRouter>>();
  let count = 0;
  const ask = async (method: string, target: string, body: string | Promise<string>): Promise<RouteAnswer> => {
    for (const router of open) {
      const answer = await router({ method, target, body: async () => body });
      if (answer.status !== 404) return await wholeAnswer(answer);
    }
    return { status: 404, body: "no server listens" };
  };
  return {
    listen: async (routes, _, logger) => {
      const router = createRouter(routes, logger);
      open.add(router);
      count += 1;
      return {
        url: `http://fake-${count}`,
        close: async () => {
          open.delete(router);
        },
      };
    },
    get: (target) => ask("GET", target, ""),
    put: (target, body) => ask("PUT", target, body),
  };
}

/** An answer as its caller has it in the end. */
export async function wholeAnswer({ rest, ...answer }: RouteAnswer): Promise<RouteAnswer> {
  let body = answer.body;
  for await (const text of rest ?? []) body += text;
  return { ...answer, body };
}
