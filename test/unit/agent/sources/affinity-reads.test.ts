import { describe, expect, it } from "vitest";
import type { LiveRead } from "../../../../agent/core/affinity/facts.ts";
import { type AffinityReads, createAffinityReads } from "../../../../agent/sources/affinity-reads.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";

const never = new AbortController().signal;
const NODE = { metadata: { name: "node-1", uid: "n1", resourceVersion: "5" } };

function start(answer: () => FakeAnswer) {
  const clock = createFakeClock();
  const metrics = createMetrics();
  const transport = createFakeTransport(answer);
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const counted = { name: "mooring_affinity_reads_total", help: "Reads.", labels: ["resource", "outcome"] } as const;
  const reads = createAffinityReads({ client, clock, reads: metrics.counter(counted) });
  return { clock, reads, metrics, requests: transport.requests };
}

function notFound(name: string): FakeAnswer {
  return json({ kind: "Status", code: 404, reason: "NotFound", message: "not there", details: { name } }, 404);
}

type Ask = (reads: AffinityReads) => Promise<LiveRead<unknown>>;

describe("a live read", () => {
  it.each<{ readonly what: string; readonly ask: Ask; readonly path: string }>([
    { what: "a pod", ask: (reads) => reads.pod("team", "web", never), path: "/api/v1/namespaces/team/pods/web" },
    {
      what: "a claim",
      ask: (reads) => reads.claim("team", "data", never),
      path: "/api/v1/namespaces/team/persistentvolumeclaims/data",
    },
    { what: "a PV", ask: (reads) => reads.volume("pv-1", never), path: "/api/v1/persistentvolumes/pv-1" },
    { what: "a Node", ask: (reads) => reads.node("node-1", never), path: "/api/v1/nodes/node-1" },
    {
      what: "a CSINode",
      ask: (reads) => reads.csiNode("node-1", never),
      path: "/apis/storage.k8s.io/v1/csinodes/node-1",
    },
    {
      what: "a CSIDriver",
      ask: (reads) => reads.csiDriver("csi.example", never),
      path: "/apis/storage.k8s.io/v1/csidrivers/csi.example",
    },
    {
      what: "a Job",
      ask: (reads) => reads.job("team", "night", never),
      path: "/apis/batch/v1/namespaces/team/jobs/night",
    },
  ])("of $what requests that object, without a resource version", async ({ ask, path }) => {
    const { reads, requests } = start(() => ({ status: 500 }));

    await ask(reads);

    expect(requests.map((request) => `${request.method} ${request.path}`)).toEqual([`GET ${path}`]);
  });

  it("escapes what a claim may name as its volume", async () => {
    const { reads, requests } = start(() => ({ status: 500 }));

    await reads.volume("../nodes?x", never);

    expect(requests[0]?.path).toBe("/api/v1/persistentvolumes/..%2Fnodes%3Fx");
  });

  it("gives the object", async () => {
    const { reads } = start(() => json(NODE));

    expect(await reads.node("node-1", never)).toMatchObject({ kind: "value", value: { uid: "n1" } });
  });

  it("reports an object as missing when the API server says so by name", async () => {
    const { reads } = start(() => notFound("node-1"));

    expect(await reads.node("node-1", never)).toEqual({ kind: "missing" });
  });

  it.each<{ readonly name: string; readonly answer: FakeAnswer; readonly why: RegExp }>([
    { name: "a proxy that answers 404", answer: { status: 404, body: "404 page not found" }, why: /answered 404/ },
    { name: "a 404 about something else", answer: notFound("node-2"), why: /answered 404/ },
    { name: "an API server that fails", answer: { status: 503 }, why: /answered 503/ },
    { name: "a broken connection", answer: "broken", why: /did not answer/ },
    { name: "a page", answer: { status: 200, body: "<html>" }, why: /did not answer/ },
    { name: "an object of another shape", answer: json({ metadata: {} }), why: /not understood/ },
    { name: "a missing right", answer: { status: 403, body: "no" }, why: /may not read it \(403\)/ },
    { name: "an invalid token", answer: { status: 401 }, why: /may not read it \(401\)/ },
  ])("does not take $name for an answer", async ({ answer, why }) => {
    const { reads } = start(() => answer);

    expect(await reads.node("node-1", never)).toEqual({ kind: "failed", why: expect.stringMatching(why) });
  });

  it("is given up after ten seconds", async () => {
    const { reads, clock } = start(() => "silence");

    const read = reads.node("node-1", never);
    await clock.advance(11_000);

    expect(await read).toMatchObject({ kind: "failed" });
  });

  it("lists the kinds that the agent may not read, until it may", async () => {
    let answer: FakeAnswer = { status: 403, body: "no" };
    const { reads } = start(() => answer);

    await reads.volume("pv-1", never);
    const before = reads.forbidden();
    answer = "broken";
    await reads.volume("pv-1", never);
    const meanwhile = reads.forbidden();
    answer = notFound("pv-1");
    await reads.volume("pv-1", never);

    expect(before).toEqual(["persistentvolumes"]);
    expect(meanwhile).toEqual(["persistentvolumes"]);
    expect(reads.forbidden()).toEqual([]);
  });

  it("is counted by its outcome", async () => {
    const { reads, metrics } = start(() => notFound("pv-1"));

    await reads.volume("pv-1", never);

    expect(await metrics.text()).toContain('{resource="persistentvolumes",outcome="missing"} 1');
  });
});
