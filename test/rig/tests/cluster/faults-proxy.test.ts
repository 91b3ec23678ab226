import type { ServerResponse } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent, createServer, request } from "node:https";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import { type CertificateAuthority, createAuthority } from "../../control-plane/certificates.ts";
import type { Fault, ProxyFaultKind } from "../../faults/fault.ts";
import type { Protocol } from "../../faults/front.ts";
import { type FaultProxy, startFaultProxy } from "../../faults/proxy.ts";
import { portOf } from "../../faults/relay.ts";
import type { Identity } from "../../faults/upstream.ts";
import { waitUntil } from "../../process/wait.ts";

const waiter = { clock: createSystemClock(), signal: new AbortController().signal };
const LIST = `${JSON.stringify({ kind: "List", items: Array.from({ length: 50 }, (_, index) => `item-${index}`) })}\n`;
const WATCH = "/things?watch=true";
const STREAM = "/things?watch=true&sendInitialEvents=true";

function event(name: string): string {
  return `${JSON.stringify({ type: "ADDED", object: { name } })}\n`;
}
const BOOKMARK = '{"type":"BOOKMARK","object":{}}\n';
const END_OF_LIST = '{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}\n';

/** A server that answers lists, keeps watches open for the test to write, and remembers what was written to it. */
interface Behind {
  readonly identity: Identity;
  readonly watches: readonly ServerResponse[];
  readonly written: readonly string[];
}

async function serveBehind(authority: CertificateAuthority): Promise<Behind> {
  const [server, client] = await Promise.all([authority.server(["127.0.0.1"]), authority.client({ user: "proxy" })]);
  const watches: ServerResponse[] = [];
  const written: string[] = [];
  const https = createServer({ cert: server.certificate, key: server.key }, (asked, answer) => {
    answer.on("error", () => {});
    if (asked.method !== "GET") written.push(`${asked.method} ${asked.url}`);
    if (asked.url?.includes("watch=true")) {
      answer.writeHead(200).flushHeaders();
      watches.push(answer);
    } else answer.end(LIST);
  });
  await new Promise<void>((resolve) => https.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    https.closeAllConnections();
    https.close();
  });
  const { certificate, key } = client;
  const url = `https://127.0.0.1:${portOf(https)}`;
  return { identity: { url, ca: authority.certificate, certificate, key }, watches, written };
}

/** An answer as far as it has come. */
class Answer {
  status: number | undefined;
  headers: Readonly<Record<string, unknown>> = {};
  text = "";
  /** `clean`, or what broke it. */
  end: string | undefined;

  get isSilent(): boolean {
    return this.end === undefined;
  }
}

interface Client {
  readonly ask: (path: string, method?: string) => Answer;
  readonly goAways: () => number;
  readonly close: () => void;
}

function overHttp2(proxy: FaultProxy): Client {
  const sessions = new Set<ClientHttp2Session>();
  let goAways = 0;
  const open = (): ClientHttp2Session => {
    const session = connect(proxy.url, { ca: proxy.ca });
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
    session.on("goaway", () => {
      goAways += 1;
      sessions.delete(session);
    });
    return session;
  };
  const ask = (path: string, method = "GET"): Answer => {
    const [session = open()] = sessions;
    const answer = new Answer();
    const stream = session.request({ ":path": path, ":method": method });
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      answer.text += chunk;
    });
    stream.on("response", ({ ":status": status, ...headers }) => Object.assign(answer, { status, headers }));
    stream.on("error", (error) => {
      answer.end = error.message;
    });
    stream.on("close", () => {
      answer.end ??= stream.readableEnded ? "clean" : "broken";
    });
    stream.end();
    return answer;
  };
  return { ask, goAways: () => goAways, close: () => [...sessions].map((session) => session.destroy()) };
}

function overHttp1(proxy: FaultProxy): Client {
  const agent = new Agent({ keepAlive: true, ca: proxy.ca });
  const ask = (path: string, method = "GET"): Answer => {
    const answer = new Answer();
    const call = request(new URL(path, proxy.url), { agent, method });
    const fail = ({ message }: Error): void => {
      answer.end = message;
    };
    call.on("error", fail).on("response", (response) => {
      Object.assign(answer, { status: response.statusCode, headers: response.headers });
      response.setEncoding("utf8").on("data", (chunk: string) => {
        answer.text += chunk;
      });
      response.on("error", fail).on("end", () => {
        answer.end = "clean";
      });
    });
    call.end();
    return answer;
  };
  return { ask, goAways: () => 0, close: () => agent.destroy() };
}

/** The limit is for a machine that does other things as well: nothing here takes long. */
function eventually(what: string, check: () => Promise<void>): Promise<void> {
  return waitUntil(waiter, { what, limitMs: 20_000, everyMs: 5, check });
}

function until(what: string, holds: () => boolean): Promise<void> {
  return eventually(what, async () => expect(holds()).toBe(true));
}

function fault(kind: ProxyFaultKind, more: Partial<Fault> = {}): Fault<ProxyFaultKind> {
  return { atMs: 0, pick: 0.5, lengthMs: 100, ...more, kind };
}

describe.each(["h2", "http/1.1"] as const)("a fault proxy over %s", (protocol: Protocol) => {
  let authority: CertificateAuthority;
  beforeAll(async () => {
    authority = await createAuthority("behind");
  });

  async function setUp(options: { readonly refusesStreams?: boolean; readonly isTimed?: boolean } = {}) {
    const behind = await serveBehind(authority);
    const proxy = await startFaultProxy({ protocol, target: behind.identity, clock: waiter.clock, ...options });
    onTestFinished(() => proxy.close());
    const client = protocol === "h2" ? overHttp2(proxy) : overHttp1(proxy);
    onTestFinished(() => client.close());
    const ask = async (path: string, method?: string): Promise<Answer> => {
      const answer = client.ask(path, method);
      await until("an end", () => !answer.isSilent);
      return answer;
    };
    /** A watch that is open on both sides, and its server's end. */
    const watch = async (path = WATCH) => {
      const before = behind.watches.length;
      const answer = client.ask(path);
      await until("an open watch", () => answer.status === 200 && behind.watches.length > before);
      const server = behind.watches.at(-1);
      if (server === undefined) throw new Error("no watch");
      return { answer, server };
    };
    // What the proxy saw tells why it waits in vain.
    const hit = (kind: ProxyFaultKind): Promise<void> =>
      eventually("a hit", async () => {
        const seen = JSON.stringify({ waiting: proxy.waiting(), requests: proxy.requests() });
        expect(proxy.hits().get(kind), seen).toBe(1);
      });
    return { behind, proxy, client, ask, watch, hit };
  }

  it("forwards everything, and identifies itself", async () => {
    const { ask, watch, proxy, behind } = await setUp();

    const list = await ask("/things");
    const { answer, server } = await watch();
    server.write(event("a"));
    await until("an event", () => answer.text === event("a"));
    server.end(BOOKMARK);
    await until("the end", () => answer.end === "clean");
    await ask("/things/a", "PATCH");

    expect(list).toMatchObject({ status: 200, text: LIST, end: "clean" });
    expect(answer.text).toBe(event("a") + BOOKMARK);
    expect(behind.written).toEqual(["PATCH /things/a"]);
    expect(proxy.requests()).toMatchObject([
      { verb: "list", collection: "/things", status: 200, isWhole: true, faults: [] },
      { verb: "watch", collection: "/things", status: 200, isWhole: true, events: 2 },
      { verb: "write", collection: "/things/a", status: 200, isWhole: true },
    ]);
    expect(proxy.requests().every(({ beganAt, endedAt = 0 }) => endedAt > beganAt)).toBe(true);
  });

  it.each([
    { kind: "answer-403", status: 403, says: "cannot list resource" },
    { kind: "answer-403-retry-after", status: 403, says: "cannot list resource", retryAfter: "2" },
    { kind: "answer-410", status: 410, says: "too old resource version" },
    { kind: "answer-410-retry-after", status: 410, says: "too old resource version", retryAfter: "2" },
    { kind: "answer-429", status: 429, says: "Too many requests" },
    { kind: "answer-429-retry-after", status: 429, says: "Too many requests", retryAfter: "2" },
    { kind: "answer-500", status: 500, says: "Internal error" },
    { kind: "answer-500-retry-after", status: 500, says: "Internal error", retryAfter: "2" },
    { kind: "answer-503", status: 503, says: "upstream connect error" },
    { kind: "answer-503-retry-after", status: 503, says: "upstream connect error", retryAfter: "2" },
  ] as const)("refuses one request, and no more: $kind", async ({ kind, status, says, ...more }) => {
    const { proxy, ask } = await setUp();
    proxy.arm(fault(kind));

    const [refused, passed] = [await ask("/things"), await ask("/things")];

    expect(refused).toMatchObject({ status, end: "clean", text: expect.stringContaining(says) });
    expect(refused.headers["retry-after"]).toBe("retryAfter" in more ? more.retryAfter : undefined);
    expect(passed.status).toBe(200);
    expect([...proxy.hits()]).toEqual([[kind, 1]]);
  });

  it("lets the token of a page expire, and no first page", async () => {
    const { proxy, ask } = await setUp();
    proxy.arm(fault("expired-page"));

    const [first, second] = [await ask("/things?limit=5"), await ask("/things?limit=5&continue=abc")];

    expect([first.status, second.status]).toEqual([200, 410]);
  });

  it("answers one request not at all", async () => {
    const { proxy, client, ask, hit } = await setUp();
    proxy.arm(fault("no-answer"));

    const answer = client.ask("/things");
    await hit("no-answer");
    const next = await ask("/things");

    expect(answer).toMatchObject({ status: undefined, end: undefined });
    expect(next.status).toBe(200);
    client.close();
    await until("the client's leave", () => proxy.requests()[0]?.endedAt !== undefined);
    expect(proxy.requests().map(({ isGivenUp }) => isGivenUp)).toEqual([true, false]);
  });

  it("answers one write not at all, and does not do it", async () => {
    const { proxy, behind, client, ask, hit } = await setUp();
    proxy.arm(fault("unanswered-write"));

    const list = await ask("/things");
    const write = client.ask("/things/a", "PATCH");
    await hit("unanswered-write");
    await ask("/things/b", "PATCH");

    expect(list.status).toBe(200);
    expect(write).toMatchObject({ status: undefined, end: undefined });
    expect(behind.written).toEqual(["PATCH /things/b"]);
  });

  it("ends a list in good order before its end", async () => {
    const { proxy, ask } = await setUp();
    proxy.arm(fault("truncated-list"));

    const answer = await ask("/things");

    expect(answer).toMatchObject({ status: 200, end: "clean" });
    expect(answer.text.length).toBeGreaterThan(0);
    expect(LIST.startsWith(answer.text)).toBe(true);
    expect(() => JSON.parse(answer.text)).toThrow(SyntaxError);
  });

  it("stalls in the middle of a list", async () => {
    const { proxy, client, ask, hit } = await setUp();
    proxy.arm(fault("list-stall"));

    const answer = client.ask("/things");
    await hit("list-stall");
    await until("a begin", () => answer.text !== "");
    await ask("/things");

    expect(answer.isSilent).toBe(true);
    expect(answer.text.length).toBeLessThan(LIST.length);
  });

  it("ends a watch in good order inside a line", async () => {
    const { proxy, watch } = await setUp();
    const { answer, server } = await watch();
    proxy.arm(fault("truncated-watch"));

    server.write(event("a") + event("b"));
    await until("the end", () => !answer.isSilent);

    expect(answer.end).toBe("clean");
    expect(answer.text).not.toBe("");
    expect(event("a").startsWith(answer.text)).toBe(true);
  });

  it("doubles one event", async () => {
    const { proxy, watch } = await setUp();
    const { answer, server } = await watch();
    proxy.arm(fault("duplicated-event"));

    server.end(BOOKMARK + event("a") + event("b"));
    await until("the end", () => !answer.isSilent);

    expect(answer.text).toBe(BOOKMARK + event("a") + event("a") + event("b"));
  });

  it("keeps events on the way for a while, in their order", async () => {
    const { proxy, watch, hit } = await setUp();
    const { answer, server } = await watch();
    proxy.arm(fault("delayed-events", { lengthMs: 200 }));
    const begin = waiter.clock.monotonicMs();

    server.write(event("a"));
    server.end(event("b"));
    await until("the end", () => !answer.isSilent);
    await hit("delayed-events");

    expect(answer.text).toBe(event("a") + event("b"));
    expect(waiter.clock.monotonicMs() - begin).toBeGreaterThan(199);
  });

  it("drops one bookmark, but never the one that ends a list", async () => {
    const { proxy, watch } = await setUp();
    const { answer, server } = await watch(STREAM);
    proxy.arm(fault("dropped-bookmark"));

    server.end(event("a") + END_OF_LIST + BOOKMARK + event("b") + BOOKMARK);
    await until("the end", () => !answer.isSilent);

    expect(answer.text).toBe(event("a") + END_OF_LIST + event("b") + BOOKMARK);
  });

  it.each([
    { name: "at once", pick: 0, passes: "" },
    { name: "after some events", pick: 0.25, passes: event("a") + event("b") },
    { name: "just before it is whole", pick: 0.9, passes: event("a") + event("b") + event("c") },
  ])("cuts a streaming list $name", async ({ pick, passes }) => {
    const { proxy, watch } = await setUp();
    proxy.arm(fault("cut-initial-events", { pick }));
    const { answer, server } = await watch(STREAM);

    server.write(event("a") + event("b") + event("c") + END_OF_LIST);
    await until("the end", () => !answer.isSilent);

    expect(answer).toMatchObject({ text: passes, end: "clean" });
    expect(proxy.hits().get("cut-initial-events")).toBe(1);
  });

  it("hits no watch before its list is whole", async () => {
    const { proxy, watch, hit } = await setUp();
    const { answer, server } = await watch(STREAM);
    proxy.arm(fault("stream-reset"));
    server.write(event("a"));
    await until("the list", () => answer.text !== "");
    const waiting = proxy.waiting();

    server.write(END_OF_LIST);
    await hit("stream-reset");

    expect(waiting).toEqual(["stream-reset"]);
  });

  it.each([
    { kind: "error-event-410", code: 410 },
    { kind: "error-event-500", code: 500 },
  ] as const)("ends a watch with an ERROR event: $kind", async ({ kind, code }) => {
    const { proxy, watch } = await setUp();
    const { answer } = await watch();

    proxy.arm(fault(kind));
    await until("the end", () => !answer.isSilent);

    expect(answer.end).toBe("clean");
    expect(JSON.parse(answer.text)).toMatchObject({ type: "ERROR", object: { kind: "Status", code } });
  });

  it("resets one watch and keeps the others", async () => {
    const { proxy, watch } = await setUp();
    const [one, other] = [await watch(), await watch()];

    proxy.arm(fault("stream-reset", { pick: 0 }));
    await until("the end", () => !one.answer.isSilent);
    other.server.end(event("a"));
    await until("the other's end", () => !other.answer.isSilent);

    expect(one.answer.end).not.toBe("clean");
    expect(other.answer).toMatchObject({ text: event("a"), end: "clean" });
  });

  it("resets a connection, and the server behind it sees its client gone", async () => {
    const { proxy, watch } = await setUp();
    const { answer, server } = await watch();

    proxy.arm(fault("connection-reset"));
    await until("the end", () => !answer.isSilent && server.closed);

    expect(answer.end).toMatch(/ECONNRESET|aborted/);
    expect(proxy.connections()).toEqual({ ever: 1, now: 0 });
  });

  it("drops the peer of a connection: the client sees nothing, the server a closed connection", async () => {
    const { proxy, client, watch } = await setUp();
    const { answer, server } = await watch();

    proxy.arm(fault("half-open"));
    await until("the server's end", () => server.closed);
    const unheard = protocol === "h2" ? client.ask("/things") : new Answer();
    await waiter.clock.sleep(100);
    const before = { heard: [answer.text, answer.end, unheard.status, unheard.end], ...proxy.connections() };
    client.close();
    await until("a closed connection", () => proxy.connections().now === 0);

    expect(before).toEqual({ heard: ["", undefined, undefined, undefined], ever: 1, now: 1 });
    expect(proxy.requests()).toHaveLength(1);
  });

  it("stalls a watch on a live connection", async () => {
    const { proxy, watch, hit } = await setUp();
    const [one, other] = [await watch(), await watch()];

    proxy.arm(fault("watch-stall", { pick: 0 }));
    await hit("watch-stall");
    one.server.write(event("a"));
    other.server.write(event("b"));
    await until("the other's event", () => other.answer.text !== "");

    expect(one.answer).toMatchObject({ text: "", end: undefined });
  });

  it("breaks everything and refuses everything for a while", async () => {
    const { proxy, ask, watch } = await setUp();
    const { answer } = await watch();
    proxy.arm(fault("overload", { lengthMs: 200 }));
    await until("the end", () => !answer.isSilent);

    const [first, second] = [await ask("/things"), await ask("/things/a", "PATCH")];
    await waiter.clock.sleep(250);
    const third = await ask("/things");

    expect(answer.end).not.toBe("clean");
    expect([first.status, second.status, third.status]).toEqual([429, 429, 200]);
    expect(first.headers["retry-after"]).toBe("2");
    expect([...proxy.hits()]).toEqual([["overload", 1]]);
  });

  it("refuses every write for a while, and lets everybody read", async () => {
    const { proxy, behind, ask, watch } = await setUp();
    const { answer, server } = await watch();
    proxy.arm(fault("outage-of-writes", { lengthMs: 200 }));

    const [first, second, list] = [
      await ask("/things/a", "PATCH"),
      await ask("/things/b", "PUT"),
      await ask("/things"),
    ];
    server.end(event("a"));
    await waiter.clock.sleep(250);
    const third = await ask("/things/c", "PATCH");

    expect([first.status, second.status, list.status, third.status]).toEqual([503, 503, 200, 200]);
    expect(answer).toMatchObject({ text: event("a"), end: "clean" });
    expect(behind.written).toEqual(["PATCH /things/c"]);
    expect([...proxy.hits()]).toEqual([["outage-of-writes", 1]]);
  });

  it("makes a watching client connect again, and refuses it, for the time of a refusal", async () => {
    const { proxy, ask, watch } = await setUp({ isTimed: true });
    const { answer } = await watch();
    proxy.arm(fault("answer-500", { lengthMs: 60_000 }));
    await until("the end", () => !answer.isSilent);

    const [refused, passed] = [await ask("/things"), await ask("/things")];

    expect(answer).toMatchObject({ text: "", end: "clean" });
    expect([refused.status, passed.status]).toEqual([500, 200]);
    expect(proxy.tally()).toEqual({ scheduled: 1, hit: 1, unconnected: 0 });
  });

  it("makes a watching client list again for the time of a fault of lists, streaming lists included", async () => {
    const { proxy, watch } = await setUp({ isTimed: true });
    const { answer } = await watch();
    proxy.arm(fault("truncated-list", { pick: 0.25, lengthMs: 60_000 }));
    await until("the end", () => !answer.isSilent);
    const list = await watch(STREAM);

    list.server.write(event("a") + event("b") + event("c") + END_OF_LIST);
    await until("the end of the list", () => !list.answer.isSilent);

    expect(JSON.parse(answer.text)).toMatchObject({ type: "ERROR", object: { code: 410 } });
    expect(list.answer).toMatchObject({ text: event("a") + event("b"), end: "clean" });
    expect(proxy.tally()).toEqual({ scheduled: 1, hit: 1, unconnected: 0 });
  });

  it("stalls a streaming list for the time of a fault of lists", async () => {
    const { proxy, watch, hit } = await setUp({ isTimed: true });
    proxy.arm(fault("list-stall", { pick: 0.1, lengthMs: 60_000 }));
    const { answer, server } = await watch(STREAM);

    server.write(event("a") + event("b"));
    await hit("list-stall");
    await until("a begin", () => answer.text !== "");

    expect(answer).toMatchObject({ text: event("a"), end: undefined });
  });

  it("does not affect clients after the time of a fault", async () => {
    const { proxy, ask } = await setUp({ isTimed: true });
    proxy.arm(fault("answer-500", { lengthMs: 20 }));
    await until("its end", () => proxy.waiting().length === 0);

    const answer = await ask("/things");

    expect(answer.status).toBe(200);
    expect(proxy.tally()).toEqual({ scheduled: 1, hit: 0, unconnected: 1 });
  });

  it("stays shut until it is opened", async () => {
    const { proxy, ask } = await setUp();
    const open = proxy.shut({ status: 503 });

    const shut = await ask("/things");
    open();
    const opened = await ask("/things");

    expect([shut.status, opened.status]).toEqual([503, 200]);
  });

  it("loses the answer to a write that was done", async () => {
    const { proxy, behind, ask } = await setUp();
    proxy.arm(fault("lost-answer"));

    const list = await ask("/things");
    const write = await ask("/things/a", "PATCH");

    expect(list.status).toBe(200);
    expect(write).toMatchObject({ status: undefined, end: expect.stringMatching(/ECONNRESET|hang up|NGHTTP2|broken/) });
    expect(behind.written).toEqual(["PATCH /things/a"]);
    expect(proxy.requests().map(({ isGivenUp }) => isGivenUp)).toEqual([false, false]);
  });

  it("refuses streaming lists as a server that knows none does", async () => {
    const { ask } = await setUp({ refusesStreams: true });

    const answer = await ask(STREAM);

    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("WatchList feature gate") });
  });

  it("breaks the connection when the server behind it dies inside an answer", async () => {
    const { watch } = await setUp();
    const { answer, server } = await watch();

    server.destroy();
    await until("the end", () => !answer.isSilent);

    expect(answer.end).not.toBe("clean");
  });
});

describe("GOAWAY", () => {
  it("keeps open requests, and accepts no new ones on this connection", async () => {
    const authority = await createAuthority("behind");
    const behind = await serveBehind(authority);
    const proxy = await startFaultProxy({ protocol: "h2", target: behind.identity, clock: waiter.clock });
    onTestFinished(() => proxy.close());
    const client = overHttp2(proxy);
    onTestFinished(() => client.close());
    const watch = client.ask(WATCH);
    await until("an open watch", () => behind.watches.length === 1 && watch.status === 200);

    proxy.arm(fault("goaway"));
    await until("GOAWAY", () => client.goAways() === 1);
    const list = client.ask("/things");
    await until("a list", () => !list.isSilent);
    behind.watches[0]?.end(event("a"));
    await until("the end", () => !watch.isSilent);

    expect(list).toMatchObject({ status: 200, text: LIST });
    expect(watch).toMatchObject({ text: event("a"), end: "clean" });
    expect(proxy.connections().ever).toBe(2);
  });

  it("is nothing that HTTP/1.1 knows: it does not even wait there", async () => {
    const authority = await createAuthority("behind");
    const behind = await serveBehind(authority);
    const proxy = await startFaultProxy({ protocol: "http/1.1", target: behind.identity, clock: waiter.clock });
    onTestFinished(() => proxy.close());

    proxy.arm(fault("goaway"));

    expect(proxy.waiting()).toEqual([]);
  });
});
