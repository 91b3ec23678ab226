import { connect } from "node:net";
import { array, object, optional, parse, string } from "valibot";
import { accepted } from "../control-plane/api.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { HarnessError } from "../process/errors.ts";

const ANSWER_LIMIT_MS = 1_000;

/** Resolves when something listens at a port, otherwise throws. */
export async function checkPort(host: string, port: number): Promise<void> {
  const socket = connect({ host, port, timeout: ANSWER_LIMIT_MS });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
      socket.once("timeout", () => reject(new HarnessError(`${host}:${port} does not answer`)));
    });
  } finally {
    socket.destroy();
  }
}

/** Resolves when a URL answers with 200, otherwise throws. */
export async function checkHttp(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new HarnessError(`${url} answers ${answer.status}: ${text.slice(0, 200)}`);
}

const Node = object({
  status: object({
    conditions: optional(array(object({ type: string(), status: string(), message: optional(string(), "") })), []),
    nodeInfo: object({ bootID: string() }),
  }),
});

/** Resolves when the API server calls a node ready and this boot of it is the one that said so, otherwise throws. */
export async function checkNode({ api }: Pick<ControlPlane, "api">, name: string, bootId: string): Promise<void> {
  const text = await accepted(api({ path: `/api/v1/nodes/${name}` }), `node ${name}`);
  const { conditions, nodeInfo } = parse(Node, JSON.parse(text)).status;
  if (nodeInfo.bootID !== bootId) throw new HarnessError(`what is known of ${name} is from an earlier boot`);
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") throw new HarnessError(`${name} is not ready: ${ready?.message ?? "it says nothing"}`);
}
