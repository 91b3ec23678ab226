import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSystemRandom, type Random } from "../../../../../common/runtime/random.ts";
import { freePort, isPortTaken } from "../../../control-plane/ports.ts";

const random = createSystemRandom();

/** Draws these numbers first. */
function drawing(...first: readonly number[]): Random {
  const left = [...first];
  return { ...random, fraction: () => left.shift() ?? random.fraction() };
}

describe("freePort", () => {
  it("passes over a port on which something listens", async () => {
    const taken = await freePort(random, "127.0.0.1");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(taken, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const first = (taken - 20_000) / 10_000 + 0.00001;

    const port = await freePort(drawing(first), "127.0.0.1");

    expect(port).not.toBe(taken);
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(30_000);
  });

  it("reports when this machine has no such address", async () => {
    const asking = freePort(random, "192.0.2.1");

    await expect(asking).rejects.toThrow(
      "no free port at 192.0.2.1 in 100 tries: does this machine have that address?",
    );
  });
});

describe("isPortTaken", () => {
  it.each([
    { name: "etcd reports it", log: '"msg":"listen tcp 127.0.0.1:23790: bind: address already in use"', taken: true },
    {
      name: "the API server reports it",
      log: "failed to listen on 127.0.0.1:6443: listen tcp: bind: address already in use",
      taken: true,
    },
    { name: "another error is another", log: "unknown flag: --nothing", taken: false },
  ])("$name", ({ log, taken }) => {
    expect(isPortTaken(log)).toBe(taken);
  });
});
