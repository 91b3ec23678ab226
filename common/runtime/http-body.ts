import type { IncomingMessage } from "node:http";

/** The body is larger than the route takes. */
export class BodyTooLarge extends Error {}
/** The caller went away in the middle of its body. */
export class CallerGone extends Error {}
/** The body is compressed: a few bytes could stand for more than there is memory. */
export class BodyEncoded extends Error {}

/** A caller that is still writing does not see an answer: an announced body up to so many limits is read first, and dropped. */
const DRAINED_LIMITS = 4;

/** The whole body as text. Rejects with one of the above, and never keeps more than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new BodyEncoded("a body with a content encoding is not taken");
  const tooLarge = new BodyTooLarge(`the body is larger than ${maxBytes} bytes`);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes * DRAINED_LIMITS) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of orGone(request)) {
    size += chunk.length;
    if (size > Math.max(maxBytes, announced)) throw tooLarge;
    if (announced <= maxBytes) chunks.push(chunk);
  }
  if (size > maxBytes) throw tooLarge;
  return Buffer.concat(chunks).toString("utf8");
}

/** A caller that goes away in the middle is its own affair, not an error of ours. */
async function* orGone(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of request) yield Buffer.from(chunk);
  } catch (cause) {
    throw new CallerGone("the body broke off", { cause });
  }
}
