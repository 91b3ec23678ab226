import { afterEach, describe, expect, it } from "vitest";
import { settle } from "../../fakes/clock.ts";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";

afterEach(stopAggregators);

const OWN_PODS = "/api/v1/namespaces/mooring/pods";

function podAt(resourceVersion: string, volumes: readonly object[]) {
  const metadata = { namespace: "shop", name: "web-0", uid: "pod-1", resourceVersion };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: "n1", volumes }, status: { phase: "Running" } };
}

describe("the word that a leader leaves on the way out", () => {
  it.each([
    {
      name: "does not reach the end of a pod that it saw when it decided no more",
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      reached: "100",
    },
    { name: "reaches what changes no claim, or the chain would break for nothing", volumes: [], reached: "102" },
  ])("$name", async ({ volumes, reached }) => {
    const { api, clock, stop, end } = await startAggregator();
    await clock.advance(5_000);
    await settle();
    api.slowDown(OWN_PODS, 500);

    stop.abort();
    await clock.advance(100);
    api.tell("/api/v1/pods", { type: "ADDED", object: podAt("101", volumes) });
    api.tell("/api/v1/pods", { type: "DELETED", object: podAt("102", volumes) });
    await end();

    const words = api.transport.requests.flatMap(({ path, body }) => (path.includes("/leases") && body ? [body] : []));
    const { metadata, spec } = JSON.parse(words.at(-1) ?? "{}");
    expect(spec.holderIdentity).toBe("");
    expect(JSON.parse(Object.values<string>(metadata.annotations)[0] ?? "{}")).toMatchObject({ reached });
  });
});
