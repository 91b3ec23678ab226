import { describe, expect, it } from "vitest";
import { createServerVersion } from "../../../../aggregator/sources/server-version.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

function versionOf(minor: string, major = "1"): FakeAnswer {
  return json({ major, minor, gitVersion: `v${major}.${minor}.0` });
}

async function running(answers: readonly FakeAnswer[], afterMs: number) {
  const clock = createFakeClock();
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const logger = createFakeLogger();
  const told: unknown[] = [];
  const source = createServerVersion({ client, clock, logger, random: createFixedRandom(0.5) }, (version) =>
    told.push(version),
  );
  const stopping = new AbortController();
  const run = source.run(stopping.signal);
  await clock.advance(afterMs);
  stopping.abort();
  await run;
  return { version: source.version(), told, requests: transport.requests, logged: logger.messages() };
}

describe("createServerVersion", () => {
  it.each([
    { name: "a plain one", answer: versionOf("35"), version: { major: 1, minor: 35 } },
    { name: "that of a managed cluster", answer: versionOf("36+"), version: { major: 1, minor: 36 } },
    { name: "none that is not one", answer: versionOf("new"), version: undefined },
    { name: "none of a server that does not tell", answer: { status: 403, body: "" }, version: undefined },
  ])("reads $name", async ({ answer, version }) => {
    const result = await running([answer], 0);

    expect(result.version).toEqual(version);
    expect(result.told).toEqual(version === undefined ? [] : [version]);
    expect(result.requests.map(({ path }) => path)).toEqual(["/version"]);
  });

  it("asks again soon when it was not told, and says so", async () => {
    const { version, logged } = await running(["broken", versionOf("35")], 1_000);

    expect(version).toEqual({ major: 1, minor: 35 });
    expect(logged).toEqual(["version of the API server not read"]);
  });

  it("notices an upgrade within an hour or so, and tells only what is new", async () => {
    const { told, requests } = await running([versionOf("35"), versionOf("35"), versionOf("36")], 2 * 3_600_000);

    expect(requests).toHaveLength(3);
    expect(told).toEqual([
      { major: 1, minor: 35 },
      { major: 1, minor: 36 },
    ]);
  });

  it("keeps what it knows while the server does not answer", async () => {
    const { version } = await running([versionOf("35"), { status: 500, body: "" }], 3 * 3_600_000);

    expect(version).toEqual({ major: 1, minor: 35 });
  });
});
