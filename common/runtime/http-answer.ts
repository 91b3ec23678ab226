import type { ServerResponse } from "node:http";
import { messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** The answer of a route. */
export interface RouteAnswer {
  readonly status: number;
  readonly body: string;
  /** Content after `body`, produced as fast as the caller reads it. Abandoned when the caller disconnects. */
  readonly rest?: AsyncIterable<string>;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller should retry over another connection, which may reach another process. */
  readonly isLast?: boolean;
}

/** Thrown by `rest` when it cannot be finished: the connection breaks, so that no caller takes the answer for complete. */
export class AnswerCut extends Error {}

interface Sending {
  readonly logger: Logger;
  /** A caller that reads nothing of `rest` for this time is disconnected. Milliseconds. */
  readonly stalledMs: number;
}

/** Sends an answer; resolves when it is sent or the caller has disconnected. Never rejects. */
export async function sendAnswer(
  response: ServerResponse,
  answer: RouteAnswer,
  { logger, stalledMs }: Sending,
): Promise<void> {
  const { status, body, rest, contentType = "text/plain; charset=utf-8", headers: more = {}, isLast = false } = answer;
  const headers = {
    ...more,
    "content-type": contentType,
    ...(rest === undefined && { "content-length": Buffer.byteLength(body) }),
    "x-content-type-options": "nosniff",
    // Answers are valid only now, and may contain what only this caller may know.
    "cache-control": "no-store",
  };
  // An oversized body is not read to its end, so the connection cannot be reused.
  response.writeHead(status, isLast || status === 413 ? { ...headers, connection: "close" } : headers);
  if (rest === undefined) return void response.end(body);
  // Counts from the last byte that the caller read, not from the last that was produced.
  response.setTimeout(stalledMs);
  try {
    await sendRest(response, body, rest);
  } catch (error) {
    response.destroy();
    if (error instanceof AnswerCut) logger.debug({ err: messageOf(error) }, "answer cut");
    else logger.error({ err: error }, "answer failed");
  }
}

async function sendRest(response: ServerResponse, body: string, rest: AsyncIterable<string>): Promise<void> {
  response.write(body);
  for await (const text of rest) {
    if (response.destroyed) return;
    if (!response.write(text)) await drained(response);
  }
  response.end();
}

/** Until the caller has read what was sent, or has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
