import { describe, expect, it } from "vitest";
import { createNodeLeases } from "../../../../aggregator/sources/node-leases.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../../fakes/transport.ts";

const renewTime = "2026-11-21T12:00:00.123456Z";
const AT = 1_795_262_400_123;

function lease(name: string, spec: object = { renewTime }): object {
  const metadata = { name, namespace: "kube-node-lease", resourceVersion: "4711" };
  return { metadata, spec: { holderIdentity: name, ...spec } };
}

const listOf = (items: readonly object[], page?: string) =>
  json({ metadata: { resourceVersion: "9", continue: page }, items });

function leasesOf(...answers: readonly FakeAnswer[]) {
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const { signal } = new AbortController();
  const ask = (...nodes: readonly string[]) => createNodeLeases(client).renewals(new Set(nodes), signal);
  return { ask, paths: () => transport.requests.map(({ path }) => path) };
}

describe("Leases of kubelets", () => {
  it("tell of nodes that are asked for when they were renewed, for how long, and the resource version", async () => {
    const odd = [lease("n3", { renewTime: null }), lease("n9", { renewTime, leaseDurationSeconds: 1e18 })];
    const good = [lease("n1", { renewTime, leaseDurationSeconds: 20 }), lease("n2"), lease("n4")];
    const { ask } = leasesOf(listOf([...odd, ...good, { kind: "Lease" }]));

    const renewals = await ask("n1", "n2", "n3", "n9");

    expect([...renewals]).toEqual([
      ["n1", { renewedAtMs: AT, durationMs: 20_000, resourceVersion: "4711" }],
      ["n2", { renewedAtMs: AT, durationMs: 40_000, resourceVersion: "4711" }],
    ]);
  });

  it("are read page by page", async () => {
    const { ask, paths } = leasesOf(listOf([lease("n1")], "a b"), listOf([lease("n2")], ""));

    const renewals = await ask("n1", "n2");

    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500";
    expect([[...renewals.keys()], paths()]).toEqual([
      ["n1", "n2"],
      [path, `${path}&continue=a+b`],
    ]);
  });

  it.each([
    ["the answer is no list", json({ kind: "Status" }), "is no list"],
    ["it is refused", json({ message: "may not list" }, 403), "may not list"],
  ])("are not known where %s", async (_, answer, problem) => {
    await expect(leasesOf(answer).ask("n1")).rejects.toThrow(problem);
  });
});
