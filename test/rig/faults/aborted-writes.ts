// Gives up writes at every moment of their way over one connection, and tells how many were begun.
import { createSecureServer } from "node:http2";
import { createUndiciTransport } from "../../../common/kube/undici-transport.ts";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { createFakeRandom } from "../../fakes/random.ts";
import { createAuthority } from "../control-plane/certificates.ts";
import { portOf } from "./relay.ts";

const LANES = 8;
const RUN_MS = 1_500;
/** So many at least, however busy the machine is. */
const LEAST = 200;
const LONGEST_MS = 4;
const BODY = JSON.stringify({ text: "a".repeat(300) });

const authority = await createAuthority("aborted-writes");
const { certificate, key } = await authority.server(["127.0.0.1"]);
const server = createSecureServer({ cert: certificate, key, allowHTTP1: true }, (request, response) => {
  request.on("error", () => {});
  response.on("error", () => {});
  // Some answers come before the body has, as a load balancer's do.
  if (request.url === "/refused") response.writeHead(503).end();
  else request.on("end", () => response.end("{}")).resume();
});
server.on("sessionError", () => {});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

const [clock, random] = [createSystemClock(), createFakeRandom()];
const transport = createUndiciTransport({ origin: `https://127.0.0.1:${portOf(server)}`, ca: authority.certificate });
const until = clock.monotonicMs() + RUN_MS;
let begun = 0;

async function write(): Promise<void> {
  const giveUp = new AbortController();
  void clock.sleep(random.fraction() * LONGEST_MS).then(() => giveUp.abort());
  const path = random.fraction() < 0.5 ? "/refused" : "/taken";
  begun += 1;
  try {
    const { body } = await transport.send({ method: "PATCH", path, headers: {}, body: BODY }, giveUp.signal);
    for await (const _ of body);
  } catch {
    // Given up.
  }
}

await Promise.all(
  Array.from({ length: LANES }, async () => {
    while (clock.monotonicMs() < until || begun < LEAST) await write();
  }),
);
await transport.close();
process.stdout.write(`${begun}\n`);
process.exit();
