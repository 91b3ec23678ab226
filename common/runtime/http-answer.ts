import type { ServerResponse } from "node:http";
import { messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** What a route answers. */
export interface RouteAnswer {
  readonly status: number;
  readonly body: string;
  /** What comes behind `body`, made as fast as the caller takes it. Given up when the caller goes away. */
  readonly rest?: AsyncIterable<string>;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller is to come again over another connection, which may lead to another process. */
  readonly isLast?: boolean;
}

/** Thrown by the rest of an answer that cannot be finished: the connection ends, so that nobody takes it for whole. */
export class AnswerCut extends Error {}

interface Sending {
  readonly logger: Logger;
  /** A caller that takes nothing of a rest for so long is given up. Milliseconds. */
  readonly stalledMs: number;
}

/** Sends an answer; resolves when it is sent or nobody takes it any more. Never rejects. */
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
    // Everything here is of this moment, and may tell what only the asker may know.
    "cache-control": "no-store",
  };
  // An oversized body is not read to its end, so the connection cannot be used again.
  response.writeHead(status, isLast || status === 413 ? { ...headers, connection: "close" } : headers);
  if (rest === undefined) return void response.end(body);
  // Counts from the last byte that was taken, not from the last that was made.
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

/** Until the caller has taken what it was sent, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
