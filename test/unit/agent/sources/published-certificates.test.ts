import { beforeAll, describe, expect, it } from "vitest";
import { createPublishedCertificates } from "../../../../agent/sources/published-certificates.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { createAuthority } from "../../../rig/control-plane/certificates.ts";

const PATH = "/api/v1/namespaces/agents/configmaps/mooring-aggregator-certificates";
const PAUSE_MS = 5_000;

let one: string;
let two: string;
beforeAll(async () => {
  [one = "", two = ""] = await Promise.all(
    ["one", "two"].map(async (name) => `${(await createAuthority(name)).certificate.trim()}\n`),
  );
});

function setUp(first: FakeAnswer) {
  const clock = createFakeClock();
  const asked: string[] = [];
  let answer = first;
  const transport = createFakeTransport(({ method, path }) => {
    asked.push(`${method} ${path}`);
    return answer;
  });
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const published = createPublishedCertificates({ client, clock }, "agents");
  const become = (next: FakeAnswer): void => {
    answer = next;
  };
  return { clock, asked, published, become };
}

const configMap = (data?: object): FakeAnswer => json({ metadata: { uid: "u", resourceVersion: "1" }, data });
const absent = json({ kind: "Status", reason: "NotFound", details: { name: PATH.split("/").at(-1) } }, 404);

describe("what the aggregator publishes", () => {
  it("is read once, at the first need, whatever its keys are", async () => {
    const { asked, published, clock } = setUp(configMap({ "a.crt": one, "b.crt": two }));

    const texts = [await published.read(), await published.read()];
    await clock.advance(3_600_000);

    expect([...texts, await published.read()]).toEqual([one + two, one + two, one + two]);
    expect(asked).toEqual([`GET ${PATH}`]);
  });

  it("is read anew on demand, but not again within five seconds, and once for all who ask meanwhile", async () => {
    const { asked, published, clock, become } = setUp(configMap({ "a.crt": one }));
    await published.read();
    become(configMap({ "a.crt": two }));
    const soon = await published.readAnew();
    await clock.advance(PAUSE_MS);

    const late = await Promise.all([published.readAnew(), published.readAnew()]);

    expect([soon, ...late, await published.read()]).toEqual([one, two, two, two]);
    expect(asked).toHaveLength(2);
  });

  it("is what can be read of it: one broken certificate hides no other", async () => {
    const broken = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    const { published } = setUp(configMap({ "a.crt": broken, "b.crt": `# b\n${one}x${two}` }));

    expect(await published.read()).toBe(one + two);
  });

  const forbidden = json({ kind: "Status", message: "forbidden" }, 403);
  it.each([
    ["it does not exist", absent, "certificate-invalid", "has published no certificate yet"],
    ["it is empty", configMap(), "certificate-invalid", "has published no certificate yet"],
    ["it has no certificate", configMap({ "a.crt": "x" }), "certificate-invalid", "has published no certificate yet"],
    ["the role is missing", forbidden, "api-rejected", "forbidden"],
    ["the API server answers something else", json({}), "transport-failed", "no ConfigMap"],
    ["the API server cannot be reached", "broken", "transport-failed", ""],
  ] as const)("fails while %s, is asked for every five seconds at most, and is there then", async (...row) => {
    const [, answer, code, why] = row;
    const { asked, published, clock, become } = setUp(answer);
    const failure = { code, message: expect.stringContaining(why) };
    await expect(published.read()).rejects.toMatchObject(failure);
    become(configMap({ "a.crt": one }));
    await clock.advance(PAUSE_MS - 1);
    await expect(published.read()).rejects.toMatchObject(failure);
    await clock.advance(1);

    expect(await published.read()).toBe(one);
    expect(asked).toHaveLength(2);
  });

  it("gives up an API server that does not answer within five seconds", async () => {
    const { published, clock } = setUp("silence");
    const outcome = published.read().catch((error: unknown) => error);
    await clock.advance(PAUSE_MS);

    expect(await outcome).toMatchObject({ code: "transport-failed" });
  });
});
