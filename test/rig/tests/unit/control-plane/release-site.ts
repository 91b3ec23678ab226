import { createHash } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** What a site answers at a path: a body, a redirect, or a body that breaks off. */
export interface Answer {
  readonly body?: string | Buffer;
  readonly location?: string;
  /** Claims this length and then closes the connection after the body. */
  readonly claimedLength?: number;
}

/** Serves these paths on loopback for the running test alone; returns the base URL and what was asked for. */
export async function serve(
  answers: Readonly<Record<string, Answer>>,
): Promise<{ readonly url: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    send(response, answers[path]);
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, asked };
}

/** The SHA-256 of a file's content, as release sites publish it. */
export function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function send(response: ServerResponse, answer: Answer | undefined): void {
  if (answer === undefined) {
    response.writeHead(404).end("no such file");
  } else if (answer.location !== undefined) {
    response.writeHead(302, { location: answer.location }).end();
  } else if (answer.claimedLength === undefined) {
    response.end(answer.body);
  } else {
    response.writeHead(200, { "content-length": answer.claimedLength });
    response.write(answer.body, () => response.destroy());
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the site has no port");
  return address.port;
}
