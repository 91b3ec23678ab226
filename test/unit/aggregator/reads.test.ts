import { afterEach, describe, expect, it } from "vitest";
import { settle } from "../../fakes/clock.ts";
import { startAggregator, stopAggregators } from "./started-aggregator.ts";
import { reportWith } from "./world.ts";

afterEach(stopAggregators);

const TARGETS = [
  ...["/v1/claims", "/v1/claims?namespace=shop", "/v1/claims?awaiting=n9", "/v1/volumes", "/v1/nodes"],
  ...["/metrics", "/livez?verbose", "/readyz?verbose", "/healthz?verbose"],
];
/** How often everything is read after each step: mostly while a pod's end waits for its node to report. */
const TIMES = (step: number): number => (step === 5 ? 1_000 : 3);

const CLAIMS = "/api/v1/persistentvolumeclaims";
const PODS = "/api/v1/pods";

const claim = {
  metadata: { namespace: "shop", name: "data", uid: "data", resourceVersion: "5" },
  spec: { volumeName: "pv-data" },
  status: {
    phase: "Bound",
    conditions: [
      {
        type: "mooring.dev/Unused",
        status: "False",
        reason: "Mounted",
        message: "mounted",
        lastTransitionTime: "2026-09-10T10:00:00Z",
      },
    ],
  },
};
const mountedOn = { "mooring.dev/mounted-on": JSON.stringify({ claimUID: "data", nodes: ["n9"] }) };
const held = { ...claim, metadata: { ...claim.metadata, annotations: mountedOn } };
const volume = {
  metadata: { name: "pv-data", uid: "pv-uid", resourceVersion: "4" },
  spec: { claimRef: { namespace: "shop", name: "data", uid: "data" }, hostPath: { path: "/data" } },
  status: { phase: "Bound" },
};
const node = { metadata: { name: "n1", uid: "n1", resourceVersion: "3" }, status: { nodeInfo: { bootID: "boot-1" } } };

function podAt(resourceVersion: string) {
  const metadata = { namespace: "shop", name: "web-0", uid: "pod-1", resourceVersion };
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: "n1", volumes }, status: { phase: "Running" } };
}

/** All that an aggregator has written, answered and logged while much happens; `ask` is called between all steps. */
async function played(ask: (get: (target: string) => Promise<unknown>, step: number) => Promise<void>) {
  const objects = { persistentvolumeclaims: [held], persistentvolumes: [volume], nodes: [node] };
  const { api, clock, server, logger } = await startAggregator({ objects });
  const answers: string[] = [];
  const report = async (resourceVersion: string): Promise<void> => {
    const endedAt = clock.monotonicMs();
    const scan = { beganAt: endedAt - 1, endedAt };
    const message = reportWith({ node: "n1", sentAt: endedAt, scan, podsResourceVersion: resourceVersion });
    answers.push((await server.put("/v1/nodes/n1/report", JSON.stringify(message))).body);
  };
  const steps = [
    () => clock.advance(2_000),
    () => report("100"),
    () => clock.advance(20_000),
    () => api.tell(PODS, { type: "ADDED", object: podAt("101") }),
    () => clock.advance(7_000),
    () => api.tell(PODS, { type: "DELETED", object: podAt("102") }),
    () => report("102"),
    () => clock.advance(100_000),
    () =>
      api.tell(CLAIMS, {
        type: "DELETED",
        object: { ...held, metadata: { ...held.metadata, resourceVersion: "103" } },
      }),
    () => clock.advance(400_000),
  ];
  for (const [index, step] of steps.entries()) {
    await step();
    await settle();
    await ask(server.get, index);
    await settle();
  }
  // What is answered afterwards, too, but for what tells of this very process.
  for (const target of TARGETS) {
    const { body } = await server.get(target);
    answers.push(...body.split("\n").filter((line) => !/^(process|nodejs)_/.test(line)));
  }
  const requests = api.transport.requests.map(({ method, path, body }) => `${method} ${path} ${body ?? ""}`);
  return [...requests, ...answers, ...logger.messages()];
}

/** The first thing that two runs have not in common: one is too long to be shown whole. */
function firstDifference(one: readonly string[], other: readonly string[]): readonly (string | undefined)[] {
  const length = Math.max(one.length, other.length);
  const index = Array.from({ length }, (_, at) => at).find((at) => one[at] !== other[at]);
  return index === undefined ? [] : [one[index], other[index]];
}

describe("what is read of an aggregator", () => {
  it("changes nothing: all that it writes, logs and answers, then and later, is the same, however often everything is read", async () => {
    const unread = await played(async () => {});

    const read = await played(async (get, step) => {
      for (const target of TARGETS) for (let time = 0; time < TIMES(step); time += 1) await get(target);
    });

    expect(firstDifference(read, unread)).toEqual([]);
    expect(unread.filter((request) => request.startsWith("PATCH") && request.includes("/data/status"))).not.toEqual([]);
  });
});
