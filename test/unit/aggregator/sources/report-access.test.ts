import { describe, expect, it } from "vitest";
import type { TokenVerdict } from "../../../../aggregator/core/reporter.ts";
import { type Access, createReportAccess } from "../../../../aggregator/sources/report-access.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const RULE = { audience: "mooring-aggregator", namespace: "mooring-agents", account: "mooring-agent" };

function verdictFor(node: string): TokenVerdict {
  return {
    isAuthenticated: true,
    audiences: ["mooring-aggregator"],
    userName: "system:serviceaccount:mooring-agents:mooring-agent",
    extra: {
      "authentication.kubernetes.io/node-name": [node],
      "authentication.kubernetes.io/pod-uid": [`uid-on-${node}`],
    },
  };
}

/** A token that the fake API server knows as that of a node's agent for so long. */
function tokenOf(node: string, expiresInMs: number | undefined, wallMs: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const expiry = expiresInMs === undefined ? {} : { exp: (wallMs + expiresInMs) / 1000 };
  const claims = { ...expiry, "kubernetes.io": { pod: { uid: `uid-on-${node}` } } };
  return `${part({ alg: "RS256" })}.${part({ ...claims, node })}.c2lnbmF0dXJl`;
}

function setUp() {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const asked: string[] = [];
  const outcomes: string[] = [];
  let answer = async (token: string): Promise<TokenVerdict> => {
    const { node } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return verdictFor(String(node));
  };
  const grant = createReportAccess(
    {
      clock,
      logger,
      nowMs: clock.wallMs,
      review: async (token) => {
        asked.push(token);
        return await answer(token);
      },
      reviews: { increment: ({ outcome }) => outcomes.push(outcome) },
    },
    RULE,
  );
  return {
    clock,
    logger,
    asked,
    outcomes,
    token: (node: string, expiresInMs: number | undefined = 600_000) => tokenOf(node, expiresInMs, clock.wallMs()),
    setAnswer: (next: typeof answer) => {
      answer = next;
    },
    report: (token: string | undefined, node = "n1", address = "10.0.0.1"): Promise<Access> =>
      grant({ authorization: token && `Bearer ${token}`, address, node }),
    grant,
  };
}

function statusOf(access: Access): number {
  return access.kind === "granted" ? 200 : access.answer.status;
}

describe("report access", () => {
  it("takes an agent's reports for its own node, and names its pod", async () => {
    const { report, token } = setUp();

    expect(await report(token("n1"))).toMatchObject({ kind: "granted", podUid: "uid-on-n1" });
  });

  it("refuses an agent's report for another node", async () => {
    const { report, token } = setUp();

    expect(await report(token("n1"), "n2")).toMatchObject({ outcome: "forbidden", answer: { status: 403 } });
  });

  it.each([
    { name: "no header", authorization: undefined },
    { name: "an empty header", authorization: "" },
    { name: "an empty token", authorization: "Bearer " },
    { name: "another scheme", authorization: "Basic YTpi" },
    { name: "what is no token", authorization: "Bearer secret" },
    { name: "a token with a line break", authorization: "Bearer a.b.c\nx" },
    { name: "an oversized token", authorization: `Bearer ${"a".repeat(9_000)}.b.c` },
  ])("refuses $name without asking anybody", async ({ authorization }) => {
    const { grant, asked } = setUp();

    const access = await grant({ authorization, node: "n1" });

    expect(access).toMatchObject({ outcome: "unauthenticated", answer: { status: 401 } });
    expect(asked).toEqual([]);
  });

  it("asks once for many reports, those at the same time included", async () => {
    const { report, token, asked } = setUp();
    const mine = token("n1");

    await Promise.all([report(mine), report(mine), report(mine)]);
    await report(mine);

    expect(asked).toHaveLength(1);
  });

  it.each([
    { name: "for two minutes", expiresInMs: 600_000, believedMs: 120_000 },
    { name: "no longer than the token lives", expiresInMs: 30_000, believedMs: 30_000 },
    { name: "not at all where the token does not say when it ends", expiresInMs: undefined, believedMs: 0 },
    { name: "not at all when it has ended by our clock", expiresInMs: -1_000, believedMs: 0 },
  ])("believes a token $name", async ({ expiresInMs, believedMs }) => {
    const { report, token, asked, clock } = setUp();
    const mine = expiresInMs === undefined ? tokenOf("n1", undefined, 0) : token("n1", expiresInMs);

    await report(mine);
    clock.pass(Math.max(0, believedMs - 1));
    await report(mine);
    const within = asked.length;
    clock.pass(1);
    await report(mine);

    expect([within, asked.length]).toEqual(believedMs === 0 ? [2, 3] : [1, 2]);
  });

  it("refuses a token that has been withdrawn, at the next review", async () => {
    const { report, token, clock, setAnswer } = setUp();
    const mine = token("n1");
    await report(mine);
    setAnswer(async () => ({ ...verdictFor("n1"), isAuthenticated: false, audiences: [] }));

    const early = await report(mine);
    clock.pass(120_000);
    const late = await report(mine);

    expect([early, late].map(statusOf)).toEqual([200, 401]);
  });

  it("asks again after five seconds about a token that was refused: its pod may have been too young", async () => {
    const { report, token, clock, setAnswer, asked } = setUp();
    const mine = token("n1");
    setAnswer(async () => ({ ...verdictFor("n1"), isAuthenticated: false }));
    const refusals = [await report(mine), await report(mine)];
    setAnswer(async () => verdictFor("n1"));

    clock.pass(5_000);
    const later = await report(mine);

    expect([...refusals, later].map(statusOf)).toEqual([401, 401, 200]);
    expect(asked).toHaveLength(2);
  });

  it("says that it cannot tell, rather than that the token is bad, when the API server does not answer", async () => {
    const { report, token, setAnswer, logger, outcomes } = setUp();
    setAnswer(async () => {
      throw new MooringError("transport-failed", "no answer");
    });
    const mine = token("n1");

    const failed = await report(mine);
    setAnswer(async () => verdictFor("n1"));
    const later = await report(mine);

    expect(failed).toMatchObject({ outcome: "review-failed", answer: { status: 503 } });
    expect(statusOf(later)).toBe(200);
    expect(outcomes).toEqual(["failed", "agent"]);
    expect(logger.messages()).toEqual(["token not reviewed, report refused", "tokens are reviewed again"]);
  });

  it("goes on taking reports of who is believed while the API server does not answer", async () => {
    const { report, token, setAnswer } = setUp();
    const mine = token("n1");
    await report(mine);
    setAnswer(() => new Promise(() => {}));

    expect(statusOf(await report(mine))).toBe(200);
  });

  it("does not hide a bug as a failed review", async () => {
    const { report, token, setAnswer } = setUp();
    setAnswer(async () => {
      throw new TypeError("a bug");
    });

    await expect(report(token("n1"))).rejects.toThrow("a bug");
  });

  it("limits how often a node brings a large report, and no other node's nor its small ones", async () => {
    const { report, token, clock } = setUp();
    const brings = async (characters: number, node = "n1"): Promise<boolean> => {
      const access = await report(token(node), node);
      return access.kind === "granted" && access.mayBring(characters);
    };
    const LARGE = 512 * 1024;
    const taken = [];
    for (let round = 0; round < 32; round += 1) taken.push(await brings(LARGE));

    expect(taken.filter(Boolean)).toHaveLength(30);
    expect([await brings(20_000), await brings(LARGE, "n2"), await brings(LARGE)]).toEqual([true, true, false]);
    await clock.advance(1_000);
    expect(await brings(LARGE)).toBe(true);
  });

  it("limits how often a node reports, and lets it go on later", async () => {
    const { report, token, clock } = setUp();
    const mine = token("n1");
    const statuses: number[] = [];
    for (let count = 0; count < 101; count += 1) statuses.push(statusOf(await report(mine)));
    const other = statusOf(await report(token("n2"), "n2"));

    clock.pass(50);
    const later = statusOf(await report(mine));

    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect([statuses.at(-1), other, later]).toEqual([429, 200, 200]);
  });

  /** Bad tokens from somewhere: of no pod, of another one for each, or of the pod that is told. */
  async function flood(
    { report, setAnswer }: ReturnType<typeof setUp>,
    {
      count,
      address,
      podUid,
    }: { readonly count: number; readonly address: string; readonly podUid?: string | undefined },
  ): Promise<readonly number[]> {
    setAnswer(async () => ({ ...verdictFor("n1"), isAuthenticated: false }));
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const statuses: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const uid = podUid ?? `made-up-${at}`;
      const claims = { jti: `${address}-${at}`, "kubernetes.io": { pod: { uid } } };
      statuses.push(statusOf(await report(`${part({})}.${part(claims)}.eA`, "n1", address)));
    }
    setAnswer(async () => verdictFor("n1"));
    return statuses;
  }

  it.each([
    { name: "from elsewhere", address: "10.0.0.9", podUid: undefined },
    { name: "from elsewhere, in the name of its pod", address: "10.0.0.9", podUid: "uid-on-n1" },
    { name: "from its own address, as all are behind one proxy", address: "10.0.0.1", podUid: undefined },
  ])(
    "a stranger who brings bad tokens to a node $name does not lock its agent out, nor a new token of it",
    async (row) => {
      const scene = setUp();
      const { report, token, clock } = scene;
      const first = token("n1", 600_000);
      const before = await report(first);

      const strangers = await flood(scene, { count: 10_000, ...row });
      const believed = await report(first);
      clock.pass(120_000);
      await flood(scene, { count: 10_000, ...row, address: row.address });
      const reviewedAnew = await report(first);
      const rotated = await report(token("n1", 500_000));

      expect(new Set(strangers)).toEqual(new Set([401, 429]));
      expect([before, believed, reviewedAnew, rotated].map(statusOf)).toEqual([200, 200, 200, 200]);
    },
  );

  it("limits how many unknown tokens are reviewed in the name of a pod, from the address where one of it was good", async () => {
    const scene = setUp();
    await scene.report(scene.token("n1"));

    const statuses = await flood(scene, { count: 300, address: "10.0.0.1", podUid: "uid-on-n1" });

    expect(statuses.filter((status) => status === 401)).toHaveLength(200);
    expect(scene.asked).toHaveLength(201);
  });

  it("leaves half of the reviews of strangers to those of other addresses", async () => {
    const scene = setUp();

    await flood(scene, { count: 6_000, address: "10.0.0.9" });
    const another = await scene.report(scene.token("n1"), "n1", "10.0.0.2");

    expect(scene.asked).toHaveLength(3_001);
    expect(statusOf(another)).toBe(200);
  });

  it("asks about what was good, and what comes from there, before it asks about strangers", async () => {
    const { clock, logger } = setUp();
    const asked: boolean[] = [];
    const grant = createReportAccess(
      {
        ...{ clock, logger, nowMs: clock.wallMs, reviews: { increment: () => {} } },
        review: async (_, isFirst) => {
          asked.push(isFirst);
          return verdictFor("n1");
        },
      },
      RULE,
    );
    const report = (expiresInMs: number): Promise<Access> =>
      grant({ authorization: `Bearer ${tokenOf("n1", expiresInMs, 0)}`, address: "10.0.0.1", node: "n1" });

    await report(clock.wallMs() + 600_000);
    await report(clock.wallMs() + 500_000);

    expect(asked).toEqual([false, true]);
  });

  it("limits how many unknown tokens are reviewed in all", async () => {
    const { report, token, asked } = setUp();

    const statuses = new Set<number>();
    for (let count = 0; count < 6_100; count += 1)
      statuses.add(statusOf(await report(token(`n${count}`), `n${count}`, `10.0.${count % 3}.1`)));

    expect(asked.length).toBe(6_000);
    expect(statuses).toEqual(new Set([200, 429]));
  });

  it("never logs a token", async () => {
    const { report, token, logger, setAnswer } = setUp();
    const mine = token("n1");
    setAnswer(async () => {
      throw new MooringError("transport-failed", "no answer");
    });
    await report(mine);
    await settle();
    setAnswer(async () => ({ ...verdictFor("n1"), isAuthenticated: false }));

    await report(mine);

    const told = JSON.stringify(logger.lines);
    for (const part of mine.split(".")) expect(told).not.toContain(part);
  });
});
