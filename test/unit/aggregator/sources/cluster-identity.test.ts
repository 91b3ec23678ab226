import { describe, expect, it } from "vitest";
import { createClusterIdentity } from "../../../../aggregator/sources/cluster-identity.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

const found = json({ metadata: { name: "kube-system", uid: "uid-of-the-cluster" } });

function identityOf(...answers: readonly FakeAnswer[]) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const identity = createClusterIdentity({ client, clock, logger, random: createFixedRandom(0.5) });
  const stop = new AbortController();
  const running = identity.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { identity, clock, logger, transport, end };
}

describe("the cluster's identity", () => {
  it("is the UID of kube-system, asked for once", async () => {
    const { identity, clock, transport, end } = identityOf(found);
    const before = identity.uid();

    await clock.advance(3_600_000);

    expect([before, identity.uid()]).toEqual([undefined, "uid-of-the-cluster"]);
    expect(transport.requests.map(({ path }) => path)).toEqual(["/api/v1/namespaces/kube-system"]);
    await end();
  });

  it.each([
    { name: "a missing right", answer: json({ message: "forbidden" }, 403) },
    { name: "a broken connection", answer: "broken" as const },
    { name: "an answer that is no namespace", answer: json({ metadata: {} }) },
  ])("is asked for again after $name", async ({ answer }) => {
    const { identity, clock, transport, end } = identityOf(answer, answer, found);

    await clock.advance(500);
    const early = [identity.uid(), transport.requests.length];
    await clock.advance(60_000);

    expect(early).toEqual([undefined, 1]);
    expect(identity.uid()).toBe("uid-of-the-cluster");
    await end();
  });

  it("ends at once when it is stopped", async () => {
    const { identity, end } = identityOf("silence");

    await end();

    expect(identity.uid()).toBeUndefined();
  });
});
