import { describe, expect, it } from "vitest";
import type { TokenVerdict } from "../../../../aggregator/core/reports/reporter.ts";
import { type Access, createGrant, podUidIn } from "../../../../aggregator/sources/report-access.ts";
import { createKubeClient, type KubeClient } from "../../../../common/kube/client.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createMetrics, type Metrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeConnection, createFakeTransport } from "../../../fakes/transport.ts";

const RULE = { namespace: "mooring-agents", account: "mooring-agent" };

function verdictFor(node: string): TokenVerdict {
  return {
    authenticated: true,
    audiences: ["mooring-aggregator"],
    user: {
      username: "system:serviceaccount:mooring-agents:mooring-agent",
      extra: {
        "authentication.kubernetes.io/node-name": [node],
        "authentication.kubernetes.io/pod-uid": [`uid-on-${node}`],
      },
    },
  };
}

const bad: TokenVerdict = { ...verdictFor("n1"), authenticated: false, audiences: [] };

/** A token that says of itself what no signature proves here. */
function tokenWith(claims: { readonly podUid: string; readonly [claim: string]: unknown }): string {
  const { podUid, ...others } = claims;
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part({ ...others, "kubernetes.io": { pod: { uid: podUid } } })}.c2lnbmF0dXJl`;
}

type Review = (token: string) => TokenVerdict | Promise<TokenVerdict>;

/** As if every token were its node's agent's. */
const good: Review = (token) =>
  verdictFor(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).node);
const hangs: Review = () => new Promise(() => {});
const noAnswer: Review = () => {
  throw new MooringError("transport-failed", "no answer");
};

function setUp() {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const asked: string[] = [];
  const outcomes: string[] = [];
  const server = { review: good };
  const client: KubeClient = {
    ...createKubeClient(createFakeConnection(createFakeTransport(() => "broken")), { clock }),
    request: async ({ body }) => {
      const { token } = Object(body).spec;
      asked.push(token);
      return { status: await server.review(token) };
    },
  };
  const increment = ({ outcome = "" }): unknown => outcomes.push(outcome);
  const metrics: Metrics = { ...createMetrics(), counter: () => ({ increment }) };
  const grant = createGrant({ client, clock, logger, metrics }, RULE);
  /** A token of a node's agent; another one for another number. */
  const token = (node: string, jti = 0): string => tokenWith({ podUid: `uid-on-${node}`, node, jti });
  const report = (mine: string, node = "n1", address = "10.0.0.1"): Promise<Access> =>
    grant({ authorization: `Bearer ${mine}`, address, node });
  const statusOf = async (...args: Parameters<typeof report>): Promise<number> => {
    const access = await report(...args);
    return "answer" in access ? access.answer.status : 200;
  };
  return { clock, logger, asked, outcomes, server, grant, token, report, statusOf };
}

describe("a report", () => {
  it("needs one token review for many reports with one token", async () => {
    const { report, token, asked } = setUp();
    const mine = token("n1");

    await report(mine);
    await Promise.all([report(mine), report(mine)]);

    expect(asked).toHaveLength(1);
  });

  it("is believed for two minutes", async () => {
    const { report, token, asked, clock } = setUp();
    const mine = token("n1");

    await report(mine);
    clock.pass(119_999);
    await report(mine);
    const within = asked.length;
    clock.pass(1);
    await report(mine);

    expect([within, asked.length]).toEqual([1, 2]);
  });

  it.each<readonly [name: string, reviews: readonly [Review, Review], afterMs: number, statuses: readonly number[]]>([
    ["anew two minutes after its token was withdrawn", [good, () => bad], 120_000, [200, 200, 401]],
    ["anew after a refusal: its pod may have been too young", [() => bad, good], 0, [401, 200, 200]],
    ["as before while the API server does not answer, if it was believed", [good, hangs], 0, [200, 200, 200]],
  ])("is judged %s", async (...[, [first, then], afterMs, statuses]) => {
    const { statusOf, token, clock, server } = setUp();
    const mine = token("n1");
    server.review = first;
    const seen = [await statusOf(mine)];
    server.review = then;

    seen.push(await statusOf(mine));
    clock.pass(afterMs);
    seen.push(await statusOf(mine));

    expect(seen).toEqual(statuses);
  });

  it("has to come again while the API server does not answer; its token is not refused and not logged", async () => {
    const { report, statusOf, token, server, logger, outcomes } = setUp();
    const mine = token("n1");
    server.review = noAnswer;

    const failed = await report(mine);
    server.review = good;

    expect(failed).toMatchObject({ outcome: "review-failed", answer: { status: 503 } });
    expect(await statusOf(mine)).toBe(200);
    expect(outcomes).toEqual(["failed", "agent"]);
    expect(logger.messages()).toEqual(["token not reviewed, report refused", "tokens are reviewed again"]);
    for (const part of mine.split(".")) expect(JSON.stringify(logger.lines)).not.toContain(part);
  });

  it("does not hide a bug as a failed review", async () => {
    const { report, token, server } = setUp();
    server.review = () => {
      throw new TypeError("a bug");
    };

    await expect(report(token("n1"))).rejects.toThrow("a bug");
  });
});

describe("a node", () => {
  it("brings few large reports at a time, which limits no other node", async () => {
    const { report, token, clock } = setUp();
    const brings = async (characters: number, node = "n1"): Promise<boolean> => {
      const access = await report(token(node), node);
      return "mayBring" in access && access.mayBring(characters);
    };
    const LARGE = 512 * 1024;
    const taken = [];
    for (let round = 0; round < 32; round += 1) taken.push(await brings(LARGE));

    expect(taken.filter(Boolean)).toHaveLength(30);
    clock.pass(50);
    expect([await brings(20_000), await brings(LARGE, "n2"), await brings(LARGE)]).toEqual([true, true, false]);
    clock.pass(1_000);
    expect(await brings(LARGE)).toBe(true);
  });

  it("brings no more than 600 reports at a time, and goes on later", async () => {
    const { statusOf, token, clock } = setUp();
    const statuses: number[] = [];
    for (let count = 0; count < 601; count += 1) statuses.push(await statusOf(token("n1")));
    const other = await statusOf(token("n2"), "n2");

    clock.pass(50);
    const later = await statusOf(token("n1"));

    expect(statuses.filter((status) => status === 200)).toHaveLength(600);
    expect([statuses.at(-1), other, later]).toEqual([429, 200, 200]);
  });
});

describe("a token says whose pod's it is", () => {
  const tokenOf = (text: string) => `x.${Buffer.from(text).toString("base64url")}.y`;
  const ofPod = (uid: unknown) => tokenOf(JSON.stringify({ exp: 12, "kubernetes.io": { pod: { uid } } }));
  const longest = "u".repeat(128);

  it.each<readonly [name: string, token: string, uid: string | undefined]>([
    ["by its UID", ofPod(longest), longest],
    ["not by a UID that is too long", ofPod(`${longest}u`), undefined],
    ["not by what is no UID", ofPod(12), undefined],
    ["not where it names no pod", tokenOf('{"exp":12,"kubernetes.io":{"pod":null}}'), undefined],
    ["not where it cannot be read", tokenOf("{"), undefined],
    ["not where it has no second part", "x", undefined],
  ])("%s", (...[, token, podUid]) => {
    expect(podUidIn(token)).toBe(podUid);
  });
});

type Scene = ReturnType<typeof setUp>;

/** So many bad tokens from somewhere: of a made-up pod each, or of the given pod. */
async function flood(
  { statusOf, server }: Scene,
  count: number,
  from: { readonly address: string; readonly podUid?: string | undefined },
) {
  server.review = () => bad;
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const podUid = from.podUid ?? `made-up-${at}`;
    statuses.push(await statusOf(tokenWith({ podUid, jti: `${from.address}-${at}` }), "n1", from.address));
  }
  server.review = good;
  return statuses;
}

describe("strangers with bad tokens", () => {
  it.each([
    ["from elsewhere", "10.0.0.9", undefined],
    ["from elsewhere, in the name of its pod", "10.0.0.9", "uid-on-n1"],
    ["from its own address, as all are behind one proxy", "10.0.0.1", undefined],
  ])("lock no agent out, nor a new token of it: %s", async (_, address, podUid) => {
    const scene = setUp();
    const { statusOf, token, clock } = scene;
    const first = token("n1");
    const seen = [await statusOf(first)];

    const strangers = await flood(scene, 10_000, { address, podUid });
    seen.push(await statusOf(first));
    clock.pass(120_000);
    await flood(scene, 10_000, { address, podUid });
    seen.push(await statusOf(first), await statusOf(token("n1", 1)));

    expect(new Set(strangers)).toEqual(new Set([401, 429]));
    expect(seen).toEqual([200, 200, 200, 200]);
  });

  it("have few reviewed in the name of a pod, from the address where one of it was good", async () => {
    const scene = setUp();
    await scene.report(scene.token("n1"));

    const statuses = await flood(scene, 300, { address: "10.0.0.1", podUid: "uid-on-n1" });

    expect(statuses.filter((status) => status === 401)).toHaveLength(200);
    expect(scene.asked).toHaveLength(201);
  });

  it("take nothing from the reports of a node whose token is believed, also from its address in the name of its pod", async () => {
    const scene = setUp();
    const mine = scene.token("n1");
    await scene.report(mine);
    await flood(scene, 10_000, { address: "10.0.0.1", podUid: "uid-on-n1" });

    expect(await scene.statusOf(mine)).toBe(200);
  });

  it("leave half of the reviews of strangers to those of other addresses", async () => {
    const scene = setUp();

    await flood(scene, 6_000, { address: "10.0.0.9" });
    const another = await scene.statusOf(scene.token("n1"), "n1", "10.0.0.2");

    expect([scene.asked.length, another]).toEqual([3_001, 200]);
  });

  it("have no more reviewed in all than the API server bears", async () => {
    const { statusOf, token, asked } = setUp();
    const statuses = new Set<number>();
    for (let count = 0; count < 6_100; count += 1)
      statuses.add(await statusOf(token(`n${count}`), `n${count}`, `10.0.${count % 3}.1`));

    expect([asked.length, statuses]).toEqual([6_000, new Set([200, 429])]);
  });

  it("leave room for the reviews of what was good, and of what comes from there, while reviews take long", async () => {
    const { report, statusOf, token, server, asked } = setUp();
    await report(token("n1"));
    server.review = hangs;
    for (let count = 0; count < 200; count += 1) void report(token(`n${count}`), `n${count}`, "10.0.0.9");
    const stranger = await statusOf(token("n9"), "n9", "10.0.0.9");
    const before = asked.length;
    server.review = good;

    expect([before, stranger, await statusOf(token("n1", 1))]).toEqual([129, 429, 200]);
  });

  it("leave room for the agents of other nodes, though they have a node's token, while reviews take long", async () => {
    const { report, statusOf, token, server } = setUp();
    for (const node of ["n1", "n2"]) await report(token(node), node);
    server.review = hangs;
    for (let count = 1; count <= 700; count += 1) void report(token("n1", count));
    server.review = good;

    expect(await statusOf(token("n2", 1), "n2")).toBe(200);
  });
});
