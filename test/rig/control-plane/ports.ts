import { createServer } from "node:net";
import type { Random } from "../../../common/runtime/random.ts";
import { HarnessError } from "../process/errors.ts";

// Below Linux's range for outgoing connections (32768 and up) and below node ports (30000 and up), so that nothing takes a
// port by chance while its server restarts.
const FIRST = 20_000;
const COUNT = 10_000;
const TRIES = 100;

/** A port on which nothing listens at `address` now; another process can still take it before it is used. */
export async function freePort(random: Random, address: string): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = FIRST + Math.floor(random.fraction() * COUNT);
    if (await isFree(port, address)) return port;
  }
  throw new HarnessError(`no free port at ${address} in ${TRIES} tries: does this machine have that address?`);
}

/** Whether a program's log says that its port was taken. */
export function isPortTaken(log: string): boolean {
  return /address already in use/i.test(log);
}

function isFree(port: number, address: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
}
