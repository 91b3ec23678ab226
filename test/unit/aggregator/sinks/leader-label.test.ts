import { describe, expect, it, onTestFinished } from "vitest";
import { LeaderLabel } from "../../../../aggregator/sinks/leader-label.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { fenceWrites } from "../../../../common/kube/fence.ts";
import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";

const PODS = "/api/v1/namespaces/mooring/pods";
type Roles = Readonly<Record<string, string | null>>;

/** Pods of a namespace by their names, with the role that each is labelled with. */
class PodServer {
  readonly roles: Map<string, string | null>;
  failure: FakeAnswer | undefined;

  constructor(roles: Roles) {
    this.roles = new Map(Object.entries(roles));
  }

  readonly answer = ({ method, path, body }: HttpRequest): FakeAnswer => {
    if (this.failure !== undefined) return this.failure;
    const { searchParams, pathname } = new URL(path, "http://server");
    if (method === "GET") return json({ items: this.#selected(searchParams) });
    const name = pathname.slice(PODS.length + 1);
    const { metadata } = JSON.parse(body ?? "{}");
    if (metadata.uid !== `uid-${name}`) return json({ kind: "Status", code: 409, message: "uid" }, 409);
    this.roles.set(name, metadata.labels["mooring.dev/role"]);
    return json({});
  };

  #selected(query: URLSearchParams): readonly object[] {
    const [field, label] = [query.get("fieldSelector"), query.get("labelSelector")];
    return [...this.roles]
      .filter(([name]) => field === null || field === `metadata.name=${name}`)
      .filter(([, role]) => label === null || label === `mooring.dev/role=${role}`)
      .map(([name, role]) => ({ metadata: { name, uid: `uid-${name}`, labels: { "mooring.dev/role": role ?? "" } } }));
  }

  get leaders(): readonly string[] {
    return [...this.roles].flatMap(([name, role]) => (role === "leader" ? [name] : []));
  }
}

async function running(roles: Roles, failure?: FakeAnswer) {
  const [clock, logger, server] = [createFakeClock(), createFakeLogger(), new PodServer(roles)];
  server.failure = failure;
  const transport = createFakeTransport((request) => server.answer(request));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const lead = { isMine: true };
  const fenced = fenceWrites(client, () => lead.isMine);
  const parts = { clock, logger, client, fenced, random: createFixedRandom(0.5) };
  const label = new LeaderLabel(parts, { namespace: "mooring", pod: "a" });
  const stop = new AbortController();
  const run = label.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await run;
  };
  onTestFinished(end);
  await clock.advance(0);
  return { clock, logger, server, transport, label, end, lead };
}

describe("the leader's label", () => {
  it.each<readonly [name: string, roles: Roles]>([
    ["on no pod yet", { a: null, b: null }],
    ["still on the pod of a leader that was killed", { a: null, b: "leader", c: null }],
    ["on both", { a: "leader", b: "leader" }],
  ])("is on the own pod alone when it was %s, and again half a minute after others change it", async (_, roles) => {
    const { clock, server, label } = await running(roles);
    const first = [server.leaders, label.problem];

    server.roles.set("a", null).set("b", "leader");
    await clock.advance(30_000);

    expect([first, server.leaders]).toEqual([[["a"], undefined], ["a"]]);
  });

  it("is not written where it stands already", async () => {
    const { transport } = await running({ a: "leader", b: null });

    expect(transport.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  it.each<readonly [name: string, roles: Roles, failure: FakeAnswer | undefined, why: string]>([
    ["there is no such pod", { b: null }, undefined, "there is no pod mooring/a"],
    ["the API server is away", { a: null }, "broken", "request failed"],
    ["the right is missing", { a: null }, { status: 403, body: "forbidden" }, "403"],
    ["the answer is no list", { a: null }, { body: "{}" }, "no list of pods"],
  ])("is missing as long as %s, which is said and tried again", async (...[, roles, failure, why]) => {
    const { clock, server, label, logger } = await running(roles, failure);

    const problem = label.problem;
    server.failure = undefined;
    server.roles.set("a", null);
    await clock.advance(1_000);

    expect(problem).toContain(why);
    expect(logger.messages("warn")).toEqual(["own pod could not be labelled as the leader's"]);
    expect([server.leaders, label.problem]).toEqual([["a"], undefined]);
  });

  it("is not put on by who does not lead any more", async () => {
    const { clock, server, lead } = await running({ a: null, b: null });

    lead.isMine = false;
    server.roles.set("a", null).set("b", "leader");
    await clock.advance(60_000);

    expect(server.leaders).toEqual(["b"]);
  });

  it("is taken off at the end, also when another one leads by then", async () => {
    const { server, label, end, lead } = await running({ a: null, b: null });
    await end();
    lead.isMine = false;

    await label.drop();

    expect([server.leaders, label.problem]).toEqual([[], "the pod has not been labelled yet"]);
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
