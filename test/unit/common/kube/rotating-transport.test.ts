import { describe, expect, it } from "vitest";
import { createRotatingTransport } from "../../../../common/kube/rotating-transport.ts";
import { type HttpRequest, readText } from "../../../../common/kube/transport.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeTransport, type FakeServer, json } from "../../../fakes/transport.ts";

const GET: HttpRequest = { method: "GET", path: "/x", headers: {} };
const never = new AbortController().signal;

function refusal(code: string): MooringError {
  return new MooringError("transport-failed", "GET failed", { cause: Object.assign(new Error(code), { code }) });
}

/** A server with a certificate of one authority, and a file that names one; `events` is what became of the transports. */
function setUp(server: FakeServer = () => json({})) {
  const world = { onDisk: "ca-1", believed: "ca-1", serving: "ca-1", refusal: "SELF_SIGNED_CERT_IN_CHAIN" };
  const events: string[] = [];
  const logger = createFakeLogger();
  let endRetirement = (): void => {};
  const transport = createRotatingTransport({
    logger,
    authority: {
      read: async () => world.believed,
      readAnew: async () => {
        world.believed = world.onDisk;
        return world.onDisk;
      },
    },
    open: (ca) => {
      events.push(`open ${ca}`);
      const inner = createFakeTransport(server);
      return {
        send: async (request, signal) => {
          if (ca !== world.serving) throw refusal(world.refusal);
          events.push(`send ${ca}`);
          return await inner.send(request, signal);
        },
        retire: () => {
          events.push(`retire ${ca}`);
          return new Promise((resolve) => {
            endRetirement = resolve;
          });
        },
        close: async () => void events.push(`close ${ca}`),
      };
    },
  });
  return { world, events, logger, transport, endRetirement: () => endRetirement() };
}

describe("a transport that follows its CA file", () => {
  it("opens once for one authority", async () => {
    const { events, transport } = setUp();

    await transport.send(GET, never);
    await transport.send(GET, never);

    expect(events).toEqual(["open ca-1", "send ca-1", "send ca-1"]);
  });

  it("uses the new CA when the file has changed, and logs that", async () => {
    const { world, events, logger, transport } = setUp();
    await transport.send(GET, never);

    Object.assign(world, { believed: "ca-2", serving: "ca-2" });
    await transport.send(GET, never);

    expect(events).toEqual(["open ca-1", "send ca-1", "open ca-2", "retire ca-1", "send ca-2"]);
    expect(logger.messages()).toEqual(["certificate authority changed, connecting anew"]);
  });

  it("does not cut off an answer that still streams over the old connection", async () => {
    const watch = createFakeByteStream();
    const { world, transport } = setUp((_, index) => (index === 0 ? { body: watch } : json({})));
    const answer = await transport.send(GET, never);

    Object.assign(world, { believed: "ca-2", serving: "ca-2" });
    await transport.send(GET, never);
    watch.write("still here");
    watch.end();

    expect(await readText(answer)).toBe("still here");
  });

  it.each([
    { code: "SELF_SIGNED_CERT_IN_CHAIN" },
    { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
    { code: "UNABLE_TO_GET_ISSUER_CERT_LOCALLY" },
    { code: "CERT_SIGNATURE_FAILURE" },
  ])(
    "reads the CA file again when the server's certificate is refused with $code, and tries once more",
    async ({ code }) => {
      const { world, events, transport } = setUp();
      await transport.send(GET, never);

      Object.assign(world, { onDisk: "ca-2", serving: "ca-2", refusal: code });
      const answer = await transport.send(GET, never);

      expect(answer.status).toBe(200);
      expect(events).toEqual(["open ca-1", "send ca-1", "open ca-2", "retire ca-1", "send ca-2"]);
    },
  );

  it.each([
    {
      name: "the file on the disk is the same",
      change: { serving: "ca-2" },
      opened: ["open ca-1"],
    },
    {
      name: "the newer file does not name the server's authority either",
      change: { serving: "ca-3", onDisk: "ca-2" },
      opened: ["open ca-1", "open ca-2", "retire ca-1"],
    },
    {
      name: "it failed for another reason, which may have come after it was sent",
      change: { serving: "ca-2", onDisk: "ca-2", refusal: "ECONNRESET" },
      opened: ["open ca-1"],
    },
  ])("fails when $name", async ({ change, opened }) => {
    const { world, events, transport } = setUp();
    Object.assign(world, change);

    await expect(transport.send(GET, never)).rejects.toMatchObject({ code: "transport-failed" });
    expect(events).toEqual(opened);
  });

  it("closes the present one and those that still have something under way", async () => {
    const { world, events, transport } = setUp();
    await transport.send(GET, never);
    Object.assign(world, { believed: "ca-2", serving: "ca-2" });
    await transport.send(GET, never);

    await transport.close();

    expect(events.slice(-2)).toEqual(["close ca-1", "close ca-2"]);
  });

  it("closes an old transport that has no request in flight", async () => {
    const { world, events, transport, endRetirement } = setUp();
    await transport.send(GET, never);
    Object.assign(world, { believed: "ca-2", serving: "ca-2" });
    await transport.send(GET, never);

    endRetirement();
    await Promise.resolve();
    await transport.close();

    expect(events.slice(-2)).toEqual(["send ca-2", "close ca-2"]);
  });

  it("closes although it was never used", async () => {
    const { events, transport } = setUp();

    await transport.close();

    expect(events).toEqual([]);
  });
});
