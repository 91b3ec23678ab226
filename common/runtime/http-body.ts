import type { IncomingMessage } from "node:http";
import type { BodyLease } from "./body-room.ts";

/** The body is larger than the route takes, or has more parts. */
export class BodyTooLarge extends Error {}
/** The caller went away in the middle of its body. */
export class CallerGone extends Error {}
/** The body is compressed: a few bytes could stand for more than there is memory. */
export class BodyEncoded extends Error {}

/** How much of a body a route takes. */
export interface BodyLimits {
  readonly bytes: number;
  /** Braces, brackets and commas, wherever they stand: what JSON costs to parse is in them. Any number unless told. */
  readonly parts?: number | undefined;
}

/** A caller that is still writing does not see an answer: an announced body up to so many limits is read first, and dropped. */
const DRAINED_LIMITS = 4;

/** The whole body as text. Rejects with one of the above, or `NoRoom`, and never keeps more than the limit and the lease allow. */
export async function readBody(request: IncomingMessage, limits: BodyLimits, lease: BodyLease): Promise<string> {
  const { bytes: maxBytes, parts: maxParts = Number.POSITIVE_INFINITY } = limits;
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new BodyEncoded("a body with a content encoding is not taken");
  const tooLarge = new BodyTooLarge(`the body is larger than ${maxBytes} bytes`);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes * DRAINED_LIMITS) throw tooLarge;
  const chunks: Buffer[] = [];
  let [size, parts] = [0, 0];
  for await (const chunk of orGone(request)) {
    size += chunk.length;
    if (size > Math.max(maxBytes, announced)) throw tooLarge;
    parts += partsIn(chunk);
    if (announced > maxBytes || parts > maxParts) {
      chunks.length = 0;
      continue;
    }
    lease.take(chunk.length);
    chunks.push(chunk);
  }
  if (size > maxBytes) throw tooLarge;
  if (parts > maxParts) throw new BodyTooLarge(`the body has more than ${maxParts} braces, brackets and commas`);
  return Buffer.concat(chunks).toString("utf8");
}

const [BRACE, BRACKET, COMMA] = Buffer.from("{[,");

function partsIn(chunk: Buffer): number {
  let parts = 0;
  for (const byte of chunk) if (byte === BRACE || byte === BRACKET || byte === COMMA) parts += 1;
  return parts;
}

/** A caller that goes away in the middle is its own affair, not an error of ours. */
async function* orGone(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of request) yield Buffer.from(chunk);
  } catch (cause) {
    throw new CallerGone("the body broke off", { cause });
  }
}
