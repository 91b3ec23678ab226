import { describe, expect, it } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { fenceWrites } from "../../../../common/kube/fence.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";

const never = new AbortController().signal;

function fenced() {
  const transport = createFakeTransport(() => json({}));
  let isLeading = true;
  const token = Promise.withResolvers<undefined>();
  const connection = { ...createFakeConnection(transport), authorization: () => token.promise };
  const client = fenceWrites(createKubeClient(connection, { clock: createFakeClock() }), () => isLeading);
  return {
    transport,
    client,
    /** What every request waits for before it can be sent. */
    authorize: () => token.resolve(undefined),
    lose: () => {
      isLeading = false;
    },
  };
}

describe("a client whose writes are fenced", () => {
  it.each(["POST", "PUT", "PATCH", "DELETE"] as const)("sends a %s while it may", async (method) => {
    const { client, transport, authorize } = fenced();
    authorize();

    await client.request({ method, path: "/x" }, never);

    expect(transport.requests).toHaveLength(1);
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"] as const)(
    "sends no %s that was asked for in time but waited too long",
    async (method) => {
      const { client, transport, authorize, lose } = fenced();

      const requested = client.request({ method, path: "/x" }, never);
      await settle();
      lose();
      authorize();

      await expect(requested).rejects.toMatchObject({ code: "not-leading" });
      expect(transport.requests).toEqual([]);
    },
  );

  it("opens no write as a stream either", async () => {
    const { client, transport, authorize, lose } = fenced();
    authorize();
    lose();

    await expect(client.open({ method: "POST", path: "/x" }, never)).rejects.toMatchObject({ code: "not-leading" });
    expect(transport.requests).toEqual([]);
  });

  it("always reads", async () => {
    const { client, transport, authorize, lose } = fenced();
    authorize();
    lose();

    await client.request({ method: "GET", path: "/x" }, never);

    expect(transport.requests).toHaveLength(1);
  });
});
