import { describe, expect, it } from "vitest";
import { readText } from "../../../common/kube/transport.ts";
import { createEngine, type Engine } from "../../simulation/engine/engine.ts";
import type { Fate } from "../../simulation/engine/fate.ts";

const LIST = { method: "GET", path: "/api/v1/nodes", headers: {} } as const;
const WATCH = { ...LIST, path: "/api/v1/nodes?watch=true&resourceVersion=1003" };
const CREATE = { method: "POST", path: "/api/v1/nodes", headers: {}, body: '{"metadata":{"name":"a"}}' } as const;

/** The result of a request with these faults: an answer, an error or nothing; and when. */
async function send(request: typeof LIST | typeof CREATE, fate: Fate, abortAfterMs?: number) {
  const engine = createEngine({ seed: 1, faultPolicy: () => fate });
  const { scheduler, api } = engine;
  const stop = new AbortController();
  if (abortAfterMs !== undefined) scheduler.after(abortAfterMs, () => stop.abort("enough"));
  const seen = { what: "nothing", atMs: 0 };
  const note = (what: string): void => void Object.assign(seen, { what, atMs: Math.round(scheduler.nowMs()) });
  engine
    .transport("t")
    .send(request, stop.signal)
    .then(
      async (response) => {
        const text = await readText(response).catch(() => "broken");
        note(text === "broken" ? text : String(response.status));
      },
      () => note("error"),
    );
  await scheduler.runUntil(100_000);
  return { ...seen, nodes: api.list("nodes").length };
}

describe("a request in the simulated network", () => {
  it.each([
    { name: "is answered", fate: { requestMs: 10, answerMs: () => 20 }, what: "201", atMs: 30, nodes: 1 },
    { name: "is lost without an error", fate: { lost: "request" }, what: "nothing", atMs: 0, nodes: 0 },
    {
      name: "is lost with its connection",
      fate: { lost: "request", brokenAfterMs: 50 },
      what: "error",
      atMs: 50,
      nodes: 0,
    },
    {
      name: "takes effect, and its answer is lost",
      fate: { requestMs: 10, lost: "answer", brokenAfterMs: 50 },
      what: "error",
      atMs: 60,
      nodes: 1,
    },
    { name: "is refused by a proxy", fate: { refusal: { status: 503 } }, what: "503", atMs: 1, nodes: 0 },
    { name: "breaks off in the middle of the body", fate: { cutAfterMs: 1 }, what: "broken", atMs: 1, nodes: 1 },
  ] as const)("$name", async ({ fate, what, atMs, nodes }) => {
    expect(await send(CREATE, fate)).toEqual({ what, atMs, nodes });
  });

  it("takes effect although its sender has given up", async () => {
    expect(await send(CREATE, { requestMs: 50 }, 10)).toEqual({ what: "error", atMs: 10, nodes: 1 });
  });

  it("takes effect twice when it is repeated, and is answered once", async () => {
    const engine = createEngine({ seed: 1, faultPolicy: () => ({ againAfterMs: [10, 20] }) });
    const body = '{"metadata":{"generateName":"a-"}}';
    const answers: number[] = [];

    void engine
      .transport("t")
      .send({ ...CREATE, body }, new AbortController().signal)
      .then(({ status }) => answers.push(status));
    await engine.scheduler.runUntil(1_000);

    expect([answers, engine.api.list("nodes").length]).toEqual([[201], 3]);
  });

  it("overtakes a slower one", async () => {
    const delays = [30, 10];
    const engine = createEngine({ seed: 1, faultPolicy: () => ({ requestMs: delays.shift() }) });
    const transport = engine.transport("t");

    for (const name of ["first", "second"])
      void transport.send({ ...CREATE, body: `{"metadata":{"name":"${name}"}}` }, new AbortController().signal);
    await engine.scheduler.runUntil(1_000);

    expect(engine.api.list("nodes").map(({ metadata }) => metadata.name)).toEqual(["second", "first"]);
  });
});

/** Watches nodes, and returns the lines. */
function watch(engine: Engine): string[] {
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    const { body } = await engine.transport("t").send(WATCH, new AbortController().signal);
    for await (const chunk of body) lines.push(...Buffer.from(chunk).toString().trim().split("\n"));
    lines.push("end");
  };
  read().catch(() => lines.push("broken"));
  return lines;
}

describe("a watch of the simulated API server", () => {
  it.each([
    { name: "goes on without a fault", action: () => {}, last: "nothing" },
    { name: "breaks when the server is cut off", action: ({ api }: Engine) => api.servers[0]?.cut(), last: "broken" },
    { name: "breaks when the server is restarted", action: ({ api }: Engine) => api.restart(100), last: "broken" },
    {
      name: "breaks when an older state is restored",
      action: ({ api }: Engine) => api.restore(api.snapshot()),
      last: "broken",
    },
  ])("$name", async ({ action, last }) => {
    const engine = createEngine({ seed: 1 });
    const lines = watch(engine);
    await engine.scheduler.runUntil(1_000);

    action(engine);
    await engine.scheduler.runUntil(2_000);

    expect(lines.at(-1) ?? "nothing").toBe(last);
  });

  it("lags as much as its server, and keeps the order", async () => {
    const engine = createEngine({ seed: 1 });
    const { api, scheduler } = engine;
    const lags = [500, 100];
    const [server] = api.servers;
    if (server !== undefined) server.lagMs = () => lags.shift() ?? 0;
    const lines = watch(engine);
    await scheduler.runUntil(1_000);

    for (const name of ["a", "b"]) api.create("nodes", { metadata: { name } });
    await scheduler.runUntil(1_400);
    const early = lines.length;
    await scheduler.runUntil(1_600);

    expect(early).toBe(0);
    expect(lines.map((line) => JSON.parse(line).object.metadata.name)).toEqual(["a", "b"]);
  });

  it("gets 410 from a version that a restarted server does not have", async () => {
    const engine = createEngine({ seed: 1 });
    engine.api.create("nodes", { metadata: { name: "a" } });
    engine.api.restart(10);
    await engine.scheduler.runUntil(100);

    const lines = watch(engine);
    await engine.scheduler.runUntil(1_000);

    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });
});
