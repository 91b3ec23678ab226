import { describe, expect, it } from "vitest";
import { createClaimStatusWriter } from "../../../../aggregator/sinks/claim-status-writer.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { formatSecondsUp } from "../../../../common/storage/timestamp.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { claimWith, mountedStatus, NOON } from "../world.ts";

function writerWith(answer: FakeAnswer) {
  const transport = createFakeTransport(() => answer);
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const counted: string[] = [];
  const writes = { increment: (labels: { readonly outcome: string }) => counted.push(labels.outcome) };
  const writer = createClaimStatusWriter({ client, logger: createFakeLogger(), writes });
  const apply = () => writer.apply(claimWith(), mountedStatus(["n1"]), new AbortController().signal);
  return { apply, counted, transport };
}

const written = {
  metadata: { namespace: "shop", name: "data", uid: "claim-1", resourceVersion: "101" },
  spec: { volumeName: "pv-1" },
  status: { phase: "Bound" },
};

function refusal(status: number): FakeAnswer {
  return json({ kind: "Status", status: "Failure", message: "no", code: status }, status);
}

describe("createClaimStatusWriter", () => {
  it("applies to exactly the claim that was decided for, and answers what it is now", async () => {
    const { apply, counted, transport } = writerWith(json(written));

    const claim = await apply();

    const [request] = transport.requests;
    expect(claim?.resourceVersion).toBe("101");
    expect(counted).toEqual(["written"]);
    expect(request?.method).toBe("PATCH");
    expect(request?.path).toBe(
      "/api/v1/namespaces/shop/persistentvolumeclaims/data/status?fieldManager=mooring-aggregator&force=true",
    );
    expect(request?.headers).toMatchObject({ "content-type": "application/apply-patch+yaml" });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        namespace: "shop",
        name: "data",
        uid: "claim-1",
        resourceVersion: "100",
        annotations: { "mooring.dev/mounted-on": '{"claimUID":"claim-1","nodes":["n1"]}' },
      },
      status: {
        conditions: [
          {
            type: "mooring.dev/Unused",
            status: "False",
            reason: "Mounted",
            message: "",
            lastTransitionTime: formatSecondsUp(NOON),
          },
        ],
      },
    });
  });

  it.each([404, 422])("%d: the claim is gone or another one, and that is no failure", async (status) => {
    const { apply, counted } = writerWith(refusal(status));

    expect(await apply()).toBeUndefined();
    expect(counted).toEqual([String(status)]);
  });

  it.each([409, 403, 429, 500])("%d is thrown, to be tried again", async (status) => {
    const { apply, counted } = writerWith(refusal(status));

    await expect(apply()).rejects.toMatchObject({ status, retriable: true });
    expect(counted).toEqual([String(status)]);
  });

  it("a lost answer is thrown, to be tried again", async () => {
    const { apply, counted } = writerWith("broken");

    await expect(apply()).rejects.toMatchObject({ code: "transport-failed", retriable: true });
    expect(counted).toEqual([]);
  });
});
