import { afterEach, describe, expect, it } from "vitest";
import { LeaderLabel } from "../../../../aggregator/sinks/leader-label.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { fenceWrites } from "../../../../common/kube/fence.ts";
import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";

const PODS = "/api/v1/namespaces/mooring/pods";

/** Pods of a namespace by their names, with the role that each is labelled with. */
class PodServer {
  readonly roles: Map<string, string | null>;
  failure: FakeAnswer | undefined;

  constructor(roles: Readonly<Record<string, string | null>>) {
    this.roles = new Map(Object.entries(roles));
  }

  readonly answer = ({ method, path, body }: HttpRequest): FakeAnswer => {
    if (this.failure !== undefined) return this.failure;
    const url = new URL(path, "http://server");
    if (method === "GET") return json({ items: this.#selected(url.searchParams) });
    const name = url.pathname.slice(PODS.length + 1);
    const patch = JSON.parse(body ?? "{}");
    if (patch.metadata.uid !== `uid-${name}`) return json({ kind: "Status", code: 409, message: "uid" }, 409);
    this.roles.set(name, patch.metadata.labels["mooring.dev/role"]);
    return json({});
  };

  #selected(query: URLSearchParams): readonly unknown[] {
    const field = query.get("fieldSelector");
    const label = query.get("labelSelector");
    return [...this.roles]
      .filter(([name]) => field === null || field === `metadata.name=${name}`)
      .filter(([, role]) => label === null || label === `mooring.dev/role=${role}`)
      .map(([name, role]) => ({
        metadata: { name, uid: `uid-${name}`, ...(role === null ? {} : { labels: { "mooring.dev/role": role } }) },
      }));
  }

  get leaders(): readonly string[] {
    return [...this.roles].flatMap(([name, role]) => (role === "leader" ? [name] : []));
  }
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function running(roles: Readonly<Record<string, string | null>>, failure?: FakeAnswer) {
  const [clock, logger, server] = [createFakeClock(), createFakeLogger(), new PodServer(roles)];
  server.failure = failure;
  const transport = createFakeTransport((request) => server.answer(request));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  let isLeading = true;
  const fenced = fenceWrites(client, () => isLeading);
  const parts = { clock, logger, client, fenced, random: createFixedRandom(0.5) };
  const label = new LeaderLabel(parts, { namespace: "mooring", pod: "a" });
  const stop = new AbortController();
  const run = label.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await run;
  };
  cleanUps.push(end);
  await clock.advance(0);
  const lose = (): void => {
    isLeading = false;
  };
  return { clock, logger, server, transport, label, end, lose };
}

describe("the leader's label", () => {
  it.each([
    { name: "on no pod yet", roles: { a: null, b: null } },
    { name: "still on the pod of a leader that was killed", roles: { a: null, b: "leader", c: null } },
    { name: "on both", roles: { a: "leader", b: "leader" } },
  ])("is on the own pod alone when it was $name", async ({ roles }) => {
    const { server, label } = await running(roles);

    expect(server.leaders).toEqual(["a"]);
    expect(label.problem).toBeUndefined();
  });

  it("is not written where it stands already", async () => {
    const { transport } = await running({ a: "leader", b: null });

    expect(transport.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  it("is put right after half a minute when others change it", async () => {
    const { clock, server } = await running({ a: null, b: null });

    server.roles.set("a", null).set("b", "leader");
    await clock.advance(30_000);

    expect(server.leaders).toEqual(["a"]);
  });

  it.each([
    { name: "there is no such pod", roles: { b: null }, failure: undefined, why: "there is no pod mooring/a" },
    { name: "the API server is away", roles: { a: null }, failure: "broken", why: "request failed" },
    { name: "the right is missing", roles: { a: null }, failure: { status: 403, body: "forbidden" }, why: "403" },
    { name: "the answer is no list", roles: { a: null }, failure: { body: "{}" }, why: "no list of pods" },
  ] as const)("is missing as long as $name, which is said and tried again", async ({ roles, failure, why }) => {
    const { clock, server, label, logger } = await running(roles, failure);

    const problem = label.problem;
    server.failure = undefined;
    server.roles.set("a", null);
    await clock.advance(1_000);

    expect(problem).toContain(why);
    expect(logger.messages("warn")).toEqual(["own pod could not be labelled as the leader's"]);
    expect(server.leaders).toEqual(["a"]);
    expect(label.problem).toBeUndefined();
  });

  it("is not put on by who does not lead any more", async () => {
    const { clock, server, lose } = await running({ a: null, b: null });

    lose();
    server.roles.set("a", null).set("b", "leader");
    await clock.advance(60_000);

    expect(server.leaders).toEqual(["b"]);
  });

  it("is taken off at the end, also when another one leads by then", async () => {
    const { server, label, end, lose } = await running({ a: null, b: null });
    await end();
    lose();

    await label.drop();

    expect(server.leaders).toEqual([]);
    expect(label.problem).toBe("the pod has not been labelled yet");
  });

  it("that cannot be taken off holds up the end for two seconds at most", async () => {
    const { clock, server, label, end, logger } = await running({ a: null, b: null });
    await end();
    server.failure = "silence";

    const dropped = label.drop();
    await settle();
    await clock.advance(2_000);
    await dropped;

    expect(logger.messages("warn")).toEqual(["own pod is still labelled as the leader's"]);
  });
});
