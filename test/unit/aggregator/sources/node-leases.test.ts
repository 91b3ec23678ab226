import { describe, expect, it } from "vitest";
import { createNodeLeases } from "../../../../aggregator/sources/node-leases.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

function lease(name: string, spec: object): object {
  return { metadata: { name, namespace: "kube-node-lease" }, spec: { holderIdentity: name, ...spec } };
}

function leasesOf(...answers: readonly FakeAnswer[]) {
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const { signal } = new AbortController();
  const ask = (...nodes: readonly string[]) => createNodeLeases(client).renewals(new Set(nodes), signal);
  return { ask, paths: () => transport.requests.map(({ path }) => path) };
}

/** 2026-11-21T12:00:00.123Z */
const AT = 1_795_262_400_123;

describe("createNodeLeases", () => {
  it("reads when kubelets renewed their Leases, and for how long these mounted volume", async () => {
    const items = [
      lease("n1", { renewTime: "2026-11-21T12:00:00.123456Z", leaseDurationSeconds: 20 }),
      lease("n2", { renewTime: "2026-11-21T12:00:00.123456Z" }),
      lease("n3", { renewTime: null }),
      lease("n4", { renewTime: "2026-11-21T12:00:00.123456Z", leaseDurationSeconds: 40 }),
      lease("n9", { renewTime: "2026-11-21T12:00:00.123456Z", leaseDurationSeconds: 1e18 }),
    ];
    const { ask } = leasesOf(json({ metadata: { resourceVersion: "9" }, items: [...items, { kind: "Lease" }] }));

    const renewals = await ask("n1", "n2", "n3", "n9");

    expect([...renewals]).toEqual([
      ["n1", { renewedAtMs: AT, durationMs: 20_000 }],
      ["n2", { renewedAtMs: AT, durationMs: 40_000 }],
    ]);
  });

  it("tells the resource version, which no kubelet's clock has a part in", async () => {
    const spec = { renewTime: "2026-11-21T12:00:00.123456Z" };
    const item = { metadata: { name: "n1", resourceVersion: "4711" }, spec };
    const { ask } = leasesOf(json({ metadata: { resourceVersion: "9" }, items: [item] }));

    const renewals = await ask("n1");

    expect(renewals.get("n1")).toMatchObject({ resourceVersion: "4711" });
  });

  it("goes on where a page ends", async () => {
    const renewTime = "2026-11-21T12:00:00.123456Z";
    const { ask, paths } = leasesOf(
      json({ metadata: { resourceVersion: "9", continue: "a b" }, items: [lease("n1", { renewTime })] }),
      json({ metadata: { resourceVersion: "9", continue: "" }, items: [lease("n2", { renewTime })] }),
    );

    const renewals = await ask("n1", "n2");

    expect([...renewals.keys()]).toEqual(["n1", "n2"]);
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500";
    expect(paths()).toEqual([path, `${path}&continue=a+b`]);
  });

  it.each([
    { name: "an answer that is no list", answer: json({ kind: "Status" }), problem: "is no list" },
    { name: "a refusal", answer: json({ message: "may not list" }, 403), problem: "may not list" },
  ])("fails on $name", async ({ answer, problem }) => {
    const { ask } = leasesOf(answer);

    await expect(ask("n1")).rejects.toThrow(problem);
  });
});
