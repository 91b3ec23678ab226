import type { IncomingMessage } from "node:http";
import type { BodyLease } from "./body-budget.ts";

/** The body is larger than the route accepts, or has more parts. */
export class BodyTooLarge extends Error {}
/** The caller disconnected within its body. */
export class CallerGone extends Error {}
/** The body is compressed: a few bytes could expand to more than the memory. */
export class BodyEncoded extends Error {}

/** The limits of a body that a route accepts. */
export interface BodyLimits {
  readonly bytes: number;
  /** Most braces, brackets and commas, anywhere in the body: they determine the cost of parsing JSON. Unlimited by default. */
  readonly parts?: number | undefined;
}

/** A caller that is still sending does not see an answer: so an announced body of up to this many limits is read first, and dropped. */
const DRAINED_LIMITS = 4;

/** The whole body as text. Rejects with one of the errors above, or `BodyBudgetExceeded`, and never keeps more than the limit and the lease allow. */
export async function readBody(request: IncomingMessage, limits: BodyLimits, lease: BodyLease): Promise<string> {
  const { bytes: maxBytes, parts: maxParts = Number.POSITIVE_INFINITY } = limits;
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new BodyEncoded("a body with a content encoding is not taken");
  // An error costs more than a small body: it notes the stack.
  const tooLarge = (): BodyTooLarge => new BodyTooLarge(`the body is larger than ${maxBytes} bytes`);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes * DRAINED_LIMITS) throw tooLarge();
  const chunks: Buffer[] = [];
  let [size, parts] = [0, 0];
  for await (const chunk of orGone(request)) {
    size += chunk.length;
    if (size > Math.max(maxBytes, announced)) throw tooLarge();
    parts += partsIn(chunk);
    if (announced > maxBytes || parts > maxParts) {
      chunks.length = 0;
      continue;
    }
    lease.take(chunk.length);
    chunks.push(chunk);
  }
  if (size > maxBytes) throw tooLarge();
  if (parts > maxParts) throw new BodyTooLarge(`the body has more than ${maxParts} braces, brackets and commas`);
  return Buffer.concat(chunks).toString("utf8");
}

const [BRACE, BRACKET, COMMA] = Buffer.from("{[,");

function partsIn(chunk: Buffer): number {
  let parts = 0;
  for (const byte of chunk) if (byte === BRACE || byte === BRACKET || byte === COMMA) parts += 1;
  return parts;
}

/** A caller that disconnects within its body is not an error of this process. */
async function* orGone(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of request) yield chunk;
  } catch (cause) {
    throw new CallerGone("the body broke off", { cause });
  }
}
