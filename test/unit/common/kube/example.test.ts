import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { countEntries } from "./example.ts";

function configMap(version: number, data: Readonly<Record<string, string>>): object {
  return { metadata: { namespace: "shop", name: "a", uid: "u", resourceVersion: String(version) }, data };
}

async function run(write: (index: number) => FakeAnswer) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const watch = createFakeByteStream();
  const bodies: unknown[] = [];
  const transport = createFakeTransport(({ method, path, body = "" }) => {
    if (method === "PATCH") return write(bodies.push(JSON.parse(body)) - 1);
    if (path.includes("watch=true")) return { body: watch };
    return json({ metadata: { resourceVersion: "10" }, items: [configMap(7, { one: "1", two: "2" })] });
  });
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const stop = new AbortController();
  const running = countEntries({ client, clock, random: createFixedRandom(1), logger }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  await settle();
  return { logger, watch, bodies };
}

describe("the example in docs/api-access.md", () => {
  it("is this code", () => {
    const page = readFileSync("docs/api-access.md", "utf8");
    const code = /```ts\n(.*?)```/s.exec(page)?.[1];

    expect(code).toBe(
      readFileSync("test/unit/common/kube/example.ts", "utf8").replaceAll("../../../../common", "../common"),
    );
  });

  it("writes once for exactly the object that it saw", async () => {
    const { bodies } = await run(() => json(configMap(11, {})));

    expect(bodies).toEqual([
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          ...{ namespace: "shop", name: "a", uid: "u", resourceVersion: "7" },
          annotations: { "example.org/entries": "2" },
        },
      },
    ]);
  });

  it("decides again on the newer object after a conflict", async () => {
    const { bodies, watch } = await run((index) => (index === 0 ? json({}, 409) : json({})));

    watch.writeLine({ type: "MODIFIED", object: configMap(12, { one: "1" }) });
    await settle();

    expect(bodies.slice(1)).toMatchObject([
      { metadata: { resourceVersion: "12", annotations: { "example.org/entries": "1" } } },
    ]);
  });

  it("reports what the server will never accept", async () => {
    const { logger } = await run(() => json({ kind: "Status", reason: "Invalid", message: "not so" }, 422));

    expect(logger.messages("error")).toEqual(["entries not written"]);
  });
});
