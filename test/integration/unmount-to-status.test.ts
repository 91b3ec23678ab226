import { readFileSync } from "node:fs";
import { release } from "node:os";
import { array, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { readList } from "../rig/stand-in/listed.ts";
import type { Program } from "../rig/stand-in/mooring.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  readClaim,
  type Stage,
  startMooring,
  volumeOf,
} from "../rig/stand-in/stage.ts";
import { describeMetricsText } from "./metrics-text.ts";

const CLAIMS = ["rest", "reborn", "both-killed", "agent-away", "edited", "pending", "anomaly", "brief", "leaked"];
const eventList = object({ items: array(object({ note: string(), regarding: object({ name: string() }) })) });
const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const isUnmounted = ({ status }: Claim): boolean => status?.reason === "Unmounted";

let owner: Owner;
let stage: Stage;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const cluster = await buildCluster(owner, await borrowControlPlane(owner, ["kube-controller-manager"]));
  stage = { owner, ...cluster, ...(await startMooring(owner, cluster)) };
  await makeClaims(stage, CLAIMS);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

describeMetricsText(() => stage);

async function runPod(claim: string, name: string) {
  const pod = await stage.kubelets[0].runPod({ namespace: NAMESPACE, name, claim, volume: volumeOf(claim) });
  await claimThat(stage, { claim, what: "mounted", holds: isMounted });
  return pod;
}

function isAbout(claim: string) {
  return ({ regarding }: { readonly regarding: { readonly name: string } }): boolean => regarding.name === claim;
}

/** Deletes an object and waits until its finalizers are done. */
async function removed(path: string): Promise<void> {
  await stage.api.remove(path);
  const check = async (): Promise<void> => await expect(stage.api.get(path)).rejects.toThrow("404");
  await waitUntil(owner, { what: `the end of ${path}`, limitMs: 20_000, check });
}

async function metric({ url }: Program, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

/** Waits until the agent of node-a has reported `count` more times. */
async function reported(count: number): Promise<void> {
  const [agent] = stage.agents;
  const accepted = 'mooring_reports_sent_total{outcome="accepted"}';
  const begin = await metric(agent, accepted);
  await waitUntil(owner, {
    what: `${count} reports`,
    limitMs: 30_000,
    check: async () => expect(await metric(agent, accepted)).toBeGreaterThanOrEqual(begin + count),
  });
}

describe("from an unmount to the claim's status", () => {
  it("polls the mount table instead of reading it by timer", () => {
    const log = readFileSync(stage.agents[0].child.logFile, "utf8");

    expect(log).toContain('"noticedBy":"poll"');
  });

  it("lists for each node the age of its report and its facts", async () => {
    const fresh = {
      state: "Reporting",
      lastReportAgeMs: expect.any(Number),
      scanEndedAgeMs: expect.any(Number),
      unmountsPending: 0,
      facts: expect.objectContaining({ kernel: release(), mountNamespace: "other" }),
    };

    await waitUntil(owner, {
      what: "the facts about both nodes",
      limitMs: 20_000,
      check: async () => {
        const { items } = readList(await (await fetch(`${stage.aggregator.url}/v1/nodes`)).text());
        expect(items.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toMatchObject([
          { name: "node-a", ...fresh },
          { name: "node-b", ...fresh },
        ]);
      },
    });
    const log = readFileSync(stage.agents[0].child.logFile, "utf8");

    expect(log).toContain('"msg":"node looked at"');
  });

  it("forgets a release once it is stored, and writes nothing at rest", async () => {
    const pod = await runPod("rest", "rest-0");
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);
    const { claim } = await claimThat(stage, { claim: "rest", what: "unmounted", holds: isUnmounted });
    const isForgotten = async (): Promise<void> =>
      expect(await metric(stage.agents[0], "mooring_unmount_records_unacknowledged")).toBe(0);
    await waitUntil(owner, { what: "the release forgotten", limitMs: 20_000, check: isForgotten });

    await reported(3);

    expect((await readClaim(stage.api, "rest")).resourceVersion).toBe(claim.resourceVersion);
    expect(claim.status?.lastUse).toMatchObject({
      node: "node-a",
      pod: `${NAMESPACE}/rest-0`,
      evidence: "mount-table",
    });
  });

  it("starts with no history for a claim that was re-created under its name", async () => {
    const pod = await runPod("reborn", "reborn-0");
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);
    const { claim: old } = await claimThat(stage, { claim: "reborn", what: "unmounted", holds: isUnmounted });
    const volume = volumeOf("reborn").name;
    await removed(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/reborn`);
    await removed(`/api/v1/persistentvolumes/${volume}`);
    // The API server keeps whole seconds: within one, the old binding's end cannot be distinguished from the new one's begin.
    const nextSecond = 1000 * Math.ceil((old.status?.lastUse?.byMs ?? 0) / 1000);
    const check = async (): Promise<void> => expect(owner.clock.wallMs()).toBeGreaterThan(nextSecond);
    await waitUntil(owner, { what: "the next second", limitMs: 5_000, check });

    await makeClaims(stage, ["reborn"]);

    const holds = ({ uid, status }: Claim): boolean => uid !== old.uid && status !== undefined;
    const { claim } = await claimThat(stage, { claim: "reborn", what: "known again", holds });
    expect(claim.status).toMatchObject({ unused: true, reason: "NeverObservedInUse", lastUse: undefined });
  });

  it("publishes no time before the truth when agent and aggregator are both killed during the unmount", async () => {
    const pod = await runPod("both-killed", "both-killed-0");
    await Promise.all([stage.aggregator.child.kill(), stage.agents[0].child.kill()]);
    await stage.kubelets[0].forceDelete(pod);
    const truth = await stage.kubelets[0].unmount(pod);

    await Promise.all([stage.aggregator.start(), stage.agents[0].start()]);

    // While no replica watches, any pod may use the claim: it counts as used until one watches again.
    const isUnused = ({ status }: Claim): boolean => status?.unused === true;
    const { claim } = await claimThat(stage, { claim: "both-killed", what: "unused", holds: isUnused });
    expect(claim.status?.sinceMs).toBeGreaterThanOrEqual(truth.notBeforeMs);
    // This agent has no journal: it is no longer known whose mount it was.
    expect(claim.status?.lastUse).toBeUndefined();
  });

  it("keeps a claim mounted while the node's agent is away, whatever Kubernetes' condition says", async () => {
    const pod = await runPod("agent-away", "agent-away-0");
    await stage.agents[0].child.kill();
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);
    const upstream = ({ upstream }: Claim): boolean => upstream?.unused === true;
    const { claim } = await claimThat(stage, { claim: "agent-away", what: "unused for Kubernetes", holds: upstream });

    await stage.agents[0].start();

    expect(isMounted(claim)).toBe(true);
    await claimThat(stage, { claim: "agent-away", what: "unmounted", holds: isUnmounted });
  });

  it("reports a claim that is mounted although Kubernetes calls it unused, in its message and by one event", async () => {
    const { api, kubelets, aggregator } = stage;
    const pod = await runPod("leaked", "leaked-0");
    await kubelets[0].forceDelete(pod);

    const isOdd = ({ status }: Claim): boolean =>
      status?.message.includes("every pod that names the claim has ended") === true;
    const { claim } = await claimThat(stage, { claim: "leaked", what: "mounted without a pod", holds: isOdd });
    const events = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events?fieldSelector=reason=UnusedWhileMounted`;
    // On a slow machine the claim whose agent was away has had one, too.
    const told = async () => parse(eventList, await api.get(events)).items.filter(isAbout("leaked"));
    await waitUntil(owner, {
      what: "the event",
      limitMs: 20_000,
      check: async () => expect(await told()).toHaveLength(1),
    });
    const unusedWhileMounted = await metric(aggregator, "mooring_claims_unused_while_mounted");
    await kubelets[0].unmount(pod);
    await claimThat(stage, { claim: "leaked", what: "unmounted", holds: isUnmounted });

    expect(claim.status?.message).toBe(
      "In use: still mounted on node node-a, although every pod that names the claim has ended",
    );
    expect(await told()).toMatchObject([
      {
        regarding: { name: "leaked" },
        note: expect.stringMatching(/^Kubernetes' condition Unused .* mounted on node-a/),
      },
    ]);
    expect([unusedWhileMounted, await metric(aggregator, "mooring_claims_unused_while_mounted")]).toEqual([1, 0]);
  });

  it("repairs a condition that another client changed, never to an earlier time", async () => {
    const pod = await runPod("edited", "edited-0");
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);
    const { claim: before } = await claimThat(stage, { claim: "edited", what: "unmounted", holds: isUnmounted });
    const path = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/edited/status`;

    await stage.api.patch(path, {
      metadata: { annotations: { "mooring.dev/last-use": null } },
      status: { conditions: [] },
    });

    const { claim } = await claimThat(stage, {
      claim: "edited",
      what: "known again",
      holds: ({ status }) => status !== undefined,
    });
    expect(claim.status?.sinceMs).toBeGreaterThanOrEqual(before.status?.sinceMs ?? Number.POSITIVE_INFINITY);
  });

  it("counts a pod that ran although no scan ever showed its mount, until the first scan after its end", async () => {
    const [kubelet] = stage.kubelets;
    const pod = await kubelet.createPod({
      namespace: NAMESPACE,
      name: "brief-0",
      claim: "brief",
      volume: volumeOf("brief"),
    });
    await kubelet.reportRunning(pod);
    const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";
    await claimThat(stage, { claim: "brief", what: "referenced", holds: isReferenced });
    const endsAtMs = owner.clock.wallMs();

    await kubelet.forceDelete(pod);

    const { claim } = await claimThat(stage, { claim: "brief", what: "unmounted", holds: isUnmounted });
    expect(claim.status?.lastUse).toMatchObject({
      pod: `${NAMESPACE}/brief-0`,
      node: "node-a",
      evidence: "mount-table",
    });
    expect(claim.status?.lastUse?.byMs).toBeGreaterThanOrEqual(endsAtMs);
  });

  it("does not count a pod that never mounted anything as a use", async () => {
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    const volumes = [{ name: "volume", persistentVolumeClaim: { claimName: "pending" } }];
    const spec = { containers: [{ name: "main", image: "example.invalid/main" }], volumes };
    await stage.api.create(pods, { metadata: { name: "pending-0" }, spec });
    const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";
    await claimThat(stage, { claim: "pending", what: "referenced", holds: isReferenced });

    await stage.api.remove(`${pods}/pending-0`);

    const { claim } = await claimThat(stage, {
      claim: "pending",
      what: "unused",
      holds: ({ status }) => status?.unused === true,
    });
    expect(claim.status).toMatchObject({ reason: "NoPodUsing", lastUse: undefined });
  });
});

describe("a volume that is unmounted while its pod runs", () => {
  it("counts as used until the pod ends, and an event reports it", async () => {
    const { api, kubelets } = stage;
    const pod = await runPod("anomaly", "anomaly-0");
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/anomaly-0`;
    await kubelets[0].unmount(pod);
    await reported(1);
    const whileRunning = await readClaim(api, "anomaly");

    await api.patch(path, { metadata: { annotations: { fresh: "event" } } });
    const events = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
    const isTold = async (): Promise<void> =>
      expect(JSON.stringify(await api.get(events))).toContain("VolumeUnmountedWhileRunning");
    // The next look at the node comes with the heartbeat.
    await waitUntil(owner, { what: "the event", limitMs: 10_000, check: isTold });
    const endsAtMs = owner.clock.wallMs();
    await kubelets[0].forceDelete(pod);

    expect(isMounted(whileRunning)).toBe(true);
    const { claim } = await claimThat(stage, { claim: "anomaly", what: "unmounted", holds: isUnmounted });
    expect(claim.status?.lastUse?.byMs).toBeGreaterThanOrEqual(endsAtMs);
  });
});

describe("the aggregator's health endpoint", () => {
  it.each([
    { name: "a body that is no JSON", path: "/v1/nodes/node-a/report", body: "{", status: 400, text: "invalid" },
    { name: "a report of nothing", path: "/v1/nodes/node-a/report", body: "{}", status: 400, text: "version" },
    {
      name: "a body beyond the limit",
      path: "/v1/nodes/node-a/report",
      body: "x".repeat(4 * 1024 * 1024 + 1),
      status: 413,
      text: "larger",
    },
    { name: "a path that is not there", path: "/v2", body: "", status: 404, text: "not found" },
  ])("refuses $name", async ({ path, body, status, text }) => {
    const answer = await fetch(`${stage.aggregator.url}${path}`, { method: "PUT", body });

    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(text);
  });

  it("names the checks that pass", async () => {
    const answer = await fetch(`${stage.aggregator.url}/readyz?verbose`);

    expect(await answer.text()).toMatch(
      /^\[\+\]state ok: ready\n\[\+\]cluster ok\n\[\+\]nodes ok\n\[\+\]pod-watch ok\n\[\+\]writes ok\n\[\+\]internal-errors ok\nreadyz check passed\n$/,
    );
  });
});
