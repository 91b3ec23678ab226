import { describe, expect, it, onTestFinished } from "vitest";
import { createServerVersion } from "../../../../aggregator/sources/server-facts.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

const HOUR = 3_600_000;

function serverWith(...answers: readonly FakeAnswer[]) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const run = (polled: { readonly run: (signal: AbortSignal) => Promise<void> }): void => {
    const stop = new AbortController();
    const running = polled.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await running;
    });
  };
  const paths = (): readonly string[] => transport.requests.map(({ path }) => path);
  return { parts: { client, clock, logger, random: createFixedRandom(0.5) }, clock, logger, paths, run };
}

describe("the API server's version", () => {
  const versionOf = (minor: string): FakeAnswer => json({ major: "1", minor, gitVersion: `v1.${minor}.0` });
  const [v35, v36] = [versionOf("35"), versionOf("36")];
  const [unread, failure] = ["version of the API server not read", { status: 500, body: "" }];

  type Row = readonly [
    answers: readonly FakeAnswer[],
    afterMs: number,
    minors: readonly number[],
    log: readonly string[],
  ];
  it.each<readonly [name: string, ...Row]>(
    // biome-ignore format: a row is a line
    [
      ["is known", [v35], 0, [35], []],
      ["is known of a managed cluster", [versionOf("36+")], 0, [36], []],
      ["is unknown where the answer is not a version", [versionOf("new")], 0, [], [unread]],
      ["is unknown where the server refuses", [{ status: 403, body: "" }], 0, [], [unread]],
      ["is asked for again soon, with a warning", ["broken", v35], 1_000, [35], [unread]],
      ["is read again within two hours", [v35, v35, v36], 2 * HOUR, [35, 36], []],
      ["stays known while the server fails", [v35, failure, failure, failure], 1.001 * HOUR, [35], [unread]],
    ],
  )("%s", async (...[, answers, afterMs, minors, log]) => {
    const { parts, clock, logger, paths, run } = serverWith(...answers);
    const seen: unknown[] = [];
    const source = createServerVersion(parts, (version) => seen.push(version));
    run(source);

    await clock.advance(afterMs);

    const versions = minors.map((minor) => ({ major: 1, minor }));
    expect([seen, source.version()]).toEqual([versions, versions.at(-1)]);
    expect(logger.messages()).toEqual(log);
    expect(paths()).toEqual(answers.map(() => "/version"));
  });
});
