import { afterEach, describe, expect, it } from "vitest";
import type { AgentPorts } from "../../../agent/agent.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { type Absence, createFakeApiServer } from "../../fakes/api-server.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeListen } from "../../fakes/listen.ts";
import { createFakeConnection, type FakeAnswer, json } from "../../fakes/transport.ts";
import { MOUNT, startAgent, stopAgents, TOKEN } from "./started-agent.ts";

afterEach(stopAgents);

const HOUR_MS = 3_600_000;
const PROBE_MS = 30_000;

const POD = {
  metadata: { namespace: "team", name: "web", uid: "u1", resourceVersion: "90" },
  status: { phase: "Running" },
};

interface Situation {
  readonly answer?: () => FakeAnswer;
  readonly away?: Absence;
  readonly ports?: (ports: AgentPorts) => Partial<AgentPorts>;
}

/** An agent with an API server that can go away, and that is asked without a network. */
async function start({ answer = () => json({ forget: [] }), away, ports = () => ({}) }: Situation = {}) {
  const clock = createFakeClock();
  const api = createFakeApiServer(clock, { pods: [POD] });
  if (away !== undefined) api.goAway(away);
  const server = createFakeListen();
  const client = createKubeClient(createFakeConnection(api.transport), { clock });
  const agent = await startAgent({
    clock,
    mounts: [TOKEN, MOUNT],
    answer,
    ports: (base) => ({ client, listen: server.listen, ...ports(base) }),
  });
  await agent.advance(5_000);
  return { ...agent, api, server };
}

type Agent = Awaited<ReturnType<typeof start>>;

/** The answers of `/livez` while the time passes, each other one counted. */
async function probed({ advance, server }: Agent, forMs: number): Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  for (let passed = 0; passed < forMs; passed += PROBE_MS) {
    await advance(PROBE_MS);
    answers.add((await server.get("/livez")).body);
  }
  return answers;
}

async function readiness({ server }: Agent): Promise<string> {
  return (await server.get("/readyz?verbose")).body;
}

describe("an agent whose API server is away for an hour", () => {
  it.each<{ readonly name: string; readonly how: Absence }>([
    { name: "refuses connections", how: "broken" },
    { name: "never answers", how: "silence" },
    { name: "is answered for by a proxy with 503", how: "unavailable" },
  ])("stays live and reports on, when the server $name", async ({ how }) => {
    const agent = await start();

    agent.api.goAway(how);
    const sentBefore = agent.messages.length;
    const answers = await probed(agent, HOUR_MS);
    const sentMeanwhile = agent.messages.length - sentBefore;
    agent.api.comeBack();
    const afterwards = await probed(agent, 120_000);

    expect([...answers, ...afterwards]).toEqual(["ok", "ok"]);
    expect(sentMeanwhile).toBeGreaterThan(100);
    expect(await readiness(agent)).toContain("readyz check passed");
    expect(agent.logger.messages("error")).toEqual([]);
  });

  it("stays live when it starts meanwhile, and names what it waits for", async () => {
    const agent = await start({ away: "broken" });

    const answers = await probed(agent, HOUR_MS);
    const meanwhile = await readiness(agent);
    agent.api.comeBack();
    await probed(agent, 120_000);

    expect([...answers]).toEqual(["ok"]);
    expect(meanwhile).toContain("[+]state ok: starting");
    expect(meanwhile).toContain("[-]pod-watch failed: the pods of this node have not been listed yet");
    expect(await readiness(agent)).toContain("[+]state ok: ready");
  });
});

describe("an agent whose aggregator is away for an hour", () => {
  it("stays live and ready, and reports that it is degraded", async () => {
    let isAway = false;
    const agent = await start({ answer: () => (isAway ? "broken" : json({ forget: [] })) });
    await agent.advance(30_000);

    isAway = true;
    const answers = await probed(agent, HOUR_MS);
    const meanwhile = await readiness(agent);
    isAway = false;
    await probed(agent, 60_000);

    expect([...answers]).toEqual(["ok"]);
    expect(meanwhile).toContain("[+]state ok: degraded");
    expect(meanwhile).toMatch(/\[\+\]reports ok \(degraded\): none has been accepted for 3\d{3} s/);
    expect(await readiness(agent)).toContain("[+]state ok: ready");
  });
});

describe("an agent whose scan hangs", () => {
  it("fails its liveness check when a scan of the mount table never ends", async () => {
    const stuckRead = Promise.withResolvers<never>();
    let isStuck = false;
    const agent = await start({
      ports: ({ mountInfo }) => ({
        mountInfo: { read: () => (isStuck ? stuckRead.promise : mountInfo.read()) },
      }),
    });
    const before = await probed(agent, 60_000);

    isStuck = true;
    const atFirst = await probed(agent, 120_000);
    await probed(agent, 480_000);
    const stuck = await agent.server.get("/livez");
    stuckRead.reject(new MooringError("mount-table-unreadable", "interrupted"));

    expect([...before, ...atFirst]).toEqual(["ok", "ok"]);
    expect(stuck.status).toBe(503);
    expect(stuck.body).toContain("[-]mount-table-loop failed: stuck for");
  });
});

describe("an idle agent", () => {
  it("logs nothing at info for hours, whatever happens to mounts that are no volumes", async () => {
    const agent = await start();
    await agent.advance(60_000);
    const before = agent.logger.messages("info").length;
    const sent = agent.messages.length;

    for (let hour = 0; hour < 3; hour += 1) {
      agent.table.mount(`/run/container-${hour}`);
      agent.mountNotifier.change();
      await agent.advance(HOUR_MS);
    }

    expect(agent.logger.messages("info").slice(before)).toEqual([]);
    // It is idle, not dead.
    expect(agent.messages.length - sent).toBeGreaterThan(300);
  });
});

describe("an agent that stops", () => {
  it("scans once more and stops, and is not ready meanwhile as it drains", async () => {
    let finish = (): void => {};
    let isStopping = false;
    const agent = await start({
      ports: ({ journal }) => ({
        journal: {
          ...journal,
          place: "/var/lib/mooring",
          store: async (state) => {
            if (isStopping) {
              await new Promise<void>((resolve) => {
                finish = resolve;
              });
            }
            await journal.store(state);
          },
        },
      }),
    });

    isStopping = true;
    agent.stop.abort();
    await agent.advance(0);
    const [ready, live] = [await agent.server.get("/readyz"), await agent.server.get("/livez")];
    finish();
    await agent.running;

    expect([ready.status, live.status]).toEqual([503, 200]);
    expect(ready.body).toContain("[-]state failed: draining");
    expect(agent.logger.messages().at(-1)).toBe("agent stopped");
  });
});
