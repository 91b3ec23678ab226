import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type ApiCall, createApiCall } from "../../../control-plane/api.ts";
import { createAuthority } from "../../../control-plane/certificates.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const answerAll: Answer = (_, response) => void response.end("{}");

/** A server, which tells the connection and the method of each request, and a way to ask it. */
async function serve(answer: Answer): Promise<{ readonly api: ApiCall; readonly asked: readonly string[] }> {
  const authority = await createAuthority("test");
  const { certificate: cert, key } = await authority.server(["127.0.0.1"]);
  const asked: string[] = [];
  const connections: Socket[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    if (!connections.includes(request.socket)) connections.push(request.socket);
    asked.push(`${request.method} ${connections.indexOf(request.socket)}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const cluster = { url: `https://127.0.0.1:${port}`, ca: authority.certificate };
  return { api: createApiCall(cluster, { token: "mine" }), asked };
}

it("reads share a connection, and each write has one of its own", async () => {
  const { api, asked } = await serve(answerAll);

  for (const method of ["GET", "POST", "GET", "DELETE", "GET"] as const) await api({ method, path: "/" });

  expect(asked).toEqual(["GET 0", "POST 1", "GET 0", "DELETE 2", "GET 0"]);
});

it("what only tries out shares the connection of reads", async () => {
  const { api, asked } = await serve(answerAll);

  await api({ path: "/" });
  await api({ method: "POST", path: "/pods?dryRun=All" });

  expect(asked).toEqual(["GET 0", "POST 0"]);
});

it("a read whose kept connection ends without an answer is asked once more", async () => {
  let left = 1;
  const { api, asked } = await serve((request, response) => {
    if (asked.length < 2 || left === 0) return answerAll(request, response);
    left -= 1;
    request.socket.destroy();
  });
  await api({ path: "/" });

  const { status } = await api({ path: "/" });

  expect(status).toBe(200);
  expect(asked).toEqual(["GET 0", "GET 0", "GET 1"]);
});

it.each([
  { name: "a first read", method: "GET" },
  { name: "a write", method: "POST" },
] as const)("$name whose connection ends without an answer fails", async ({ method }) => {
  const { api, asked } = await serve((request) => request.socket.destroy());

  await expect(api({ method, path: "/" })).rejects.toThrow();

  expect(asked).toEqual([`${method} 0`]);
});
