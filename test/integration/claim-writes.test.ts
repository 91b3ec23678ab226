import { array, looseObject, object, optional, parse, record, string } from "valibot";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { type BareCluster, CLAIMS, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";

const SINCE = "mooring.dev/unused-since";
const NODES = "mooring.dev/mounted-on";
const LAST = "mooring.dev/last-use";
const WRITTEN = 'mooring_status_writes_total{outcome="written"}';

const raw = object({
  metadata: object({ uid: string(), resourceVersion: string(), annotations: optional(record(string(), string()), {}) }),
  status: object({ conditions: optional(array(looseObject({ type: string() })), []) }),
});
const events = object({
  items: array(object({ reason: string(), note: string(), regarding: object({ name: string() }) })),
});

const isUnused = ({ status }: Claim): boolean => status?.unused === true;
const isReferenced = ({ status }: Claim): boolean => status?.reason === "Referenced";

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregators: RunningAggregator[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner);
});
afterEach(async () => {
  await Promise.all(aggregators.map(({ stop }) => stop()));
  aggregators = [];
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function aggregator(...flags: readonly string[]): Promise<RunningAggregator> {
  const started = await cluster.startAggregator(flags);
  aggregators.push(started);
  return started;
}

async function rawClaim(name: string) {
  const { metadata, status } = parse(raw, await cluster.api.get(`${CLAIMS}/${name}`));
  const conditions = new Map(status.conditions.map((condition) => [condition.type, condition]));
  return { ...metadata, conditions };
}

/** Lets another manager own annotations of a claim by server-side apply, as a GitOps tool does. */
async function ownByOther(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
  const identity = { apiVersion: "v1", kind: "PersistentVolumeClaim" };
  await cluster.api.apply(`${CLAIMS}/${name}`, { ...identity, metadata: { name, annotations } });
}

async function eventsOf(name: string): Promise<readonly { readonly reason: string; readonly note: string }[]> {
  const list = parse(events, await cluster.api.get("/apis/events.k8s.io/v1/namespaces/shop/events"));
  return list.items.filter(({ regarding }) => regarding.name === name);
}

function until(what: string, check: () => Promise<void>): Promise<void> {
  return waitUntil(owner, { what, limitMs: 20_000, check });
}

describe("the status of a claim on a real API server", () => {
  it("is written once for each transition, and not at rest", async () => {
    await cluster.createClaims(["plain"]);
    const { metric } = await aggregator();
    await cluster.claimThat("plain", "known", isUnused);
    const before = await metric(WRITTEN);

    await cluster.createPod("plain-0", "plain");
    await cluster.claimThat("plain", "referenced", isReferenced);
    await cluster.removePod("plain-0");
    const { status, resourceVersion } = await cluster.claimThat("plain", "unused again", isUnused);
    await owner.clock.sleep(1_000);

    expect(status).toMatchObject({ reason: "NoPodUsing", lastUse: undefined });
    expect(await metric(WRITTEN)).toBe(before + 2);
    expect((await cluster.claim("plain")).resourceVersion).toBe(resourceVersion);
  });

  it.each([
    { name: "an unknown reason", forged: { status: "True", reason: "Because" } },
    { name: "an unknown status", forged: { status: "Unknown", reason: "Unmounted" } },
    { name: "a status that does not fit to the reason", forged: { status: "True", reason: "Mounted" } },
    { name: "no time", forged: { status: "True", reason: "Unmounted", lastTransitionTime: null } },
    { name: "a time before the claim was made", forged: { status: "True", reason: "Unmounted" } },
  ])("replaces a forged condition with $name, whichever manager owns it", async ({ name, forged }) => {
    const claim = `forged-${name.replaceAll(/[^a-z]/g, "")}`;
    const longAgo = { type: "mooring.dev/Unused", lastTransitionTime: "2020-01-01T00:00:00Z", message: "forged" };
    await cluster.createClaims([claim]);
    await cluster.api.patch(`${CLAIMS}/${claim}/status`, { status: { conditions: [{ ...longAgo, ...forged }] } });
    const nowMs = owner.clock.wallMs();

    await aggregator();

    const { status } = await cluster.claimThat(claim, "known", ({ status }) => status !== undefined);
    expect(status).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(Math.floor(nowMs / 1000) * 1000);
  });

  it("of all claims at once is written several at a time until none is left", async () => {
    const names = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    for (let from = 0; from < names.length; from += 50) await cluster.createClaims(names.slice(from, from + 50));

    const { metric } = await aggregator();

    await until("the status of all claims", async () =>
      expect(await metric(WRITTEN)).toBeGreaterThanOrEqual(names.length),
    );
    // The watch brings back what was written, and each claim is compared once more.
    await until("no claim to wait", async () => expect(await metric('workqueue_depth{name="claims"}')).toBe(0));
  });
});

describe("annotations of a claim on a real API server", () => {
  const foreign = {
    [SINCE]: "2020-01-01T00:00:00Z",
    [NODES]: '{"claimUID":"other","nodes":["n9"]}',
    [LAST]:
      '{"claimUID":"other","release":"r","releasedAt":"2020-01-01T00:00:00Z","uncertaintyMs":1,"evidence":"mount-table"}',
  };

  it("that came with a restored backup go, those of others stay", async () => {
    await cluster.createClaims(["restored"], { annotations: { ...foreign, "example.com/keep": "yes" } });

    await aggregator();

    await until("the clean claim", async () =>
      expect((await rawClaim("restored")).annotations).toEqual({ "example.com/keep": "yes" }),
    );
    await cluster.claimThat("restored", "known", ({ status }) => status?.reason === "NeverObservedInUse");
  });

  it("that another manager owns are removed all the same, and a manager that restores them is reported once", async () => {
    await cluster.createClaims(["gitops"]);
    const { metric, logger } = await aggregator();
    await cluster.claimThat("gitops", "known", isUnused);

    for (const round of [1, 2, 3]) {
      await ownByOther("gitops", foreign);
      await until(`clean claim ${round}`, async () => expect((await rawClaim("gitops")).annotations).toEqual({}));
    }

    expect(await metric('mooring_status_writes_total{outcome="cleaned"}')).toBe(3);
    await until("the event", async () => expect(await eventsOf("gitops")).toHaveLength(1));
    expect(await eventsOf("gitops")).toMatchObject([
      { reason: "StatusPutBack", note: expect.stringContaining("mooring-tests puts back mooring.dev/") },
    ]);
    expect(logger.messages("warn")).toEqual(["claim needs attention"]);
  });

  it("with another time than the condition are corrected, and owned by Mooring again", async () => {
    await cluster.createClaims(["corrected"]);
    await cluster.createPod("corrected-0", "corrected");
    await aggregator();
    await cluster.claimThat("corrected", "referenced", isReferenced);
    await cluster.removePod("corrected-0");
    const { status } = await cluster.claimThat("corrected", "unused", isUnused);
    const since = formatSecondsUp(status?.sinceMs ?? 0);

    await ownByOther("corrected", { [SINCE]: "2020-01-01T00:00:00Z" });

    await until("the right time", async () =>
      expect((await rawClaim("corrected")).annotations).toEqual({ [SINCE]: since }),
    );
    await cluster.createPod("corrected-1", "corrected");
    await until("its end", async () => expect((await rawClaim("corrected")).annotations).toEqual({}));
  });

  it("that another manager owns with Mooring's own value keep that value", async () => {
    await cluster.createClaims(["copied"]);
    await cluster.createPod("copied-0", "copied");
    await aggregator();
    await cluster.claimThat("copied", "referenced", isReferenced);
    await cluster.removePod("copied-0");
    const { status } = await cluster.claimThat("copied", "unused", isUnused);
    await ownByOther("copied", { [SINCE]: formatSecondsUp(status?.sinceMs ?? 0) });

    await cluster.createPod("copied-1", "copied");

    await cluster.claimThat("copied", "referenced again", isReferenced);
    await until("the annotation gone", async () => expect((await rawClaim("copied")).annotations).toEqual({}));
  });
});

describe("a status that the API server refuses", () => {
  const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

  async function refuse(): Promise<void> {
    const resources = ["persistentvolumeclaims/status"];
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources }];
    const denied = "!('refused' in object.metadata.?labels.orValue({}))";
    await cluster.api.create(POLICIES, {
      metadata: { name: "no-status" },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: denied, message: "statuses of this claim are frozen", reason: "Forbidden" }],
      },
    });
    await cluster.api.create(`${POLICIES.replace("policies", "policybindings")}`, {
      metadata: { name: "no-status" },
      spec: { policyName: "no-status", validationActions: ["Deny"] },
    });
    await until("the policy at work", async () => {
      const path = `${CLAIMS}/frozen/status?dryRun=All`;
      await expect(cluster.api.patch(path, { metadata: { annotations: { try: "it" } } })).rejects.toThrow("frozen");
    });
  }

  it("is reported once by an event, does not delay other claims, and is written as soon as the claim allows it", async () => {
    await cluster.createClaims(["frozen", "free"]);
    await cluster.api.patch(`${CLAIMS}/frozen`, { metadata: { labels: { refused: "yes" } } });
    await refuse();

    const { metric, logger } = await aggregator();

    await cluster.claimThat("free", "known", isUnused);
    await until("the event", async () => expect(await eventsOf("frozen")).toHaveLength(1));
    expect(await metric("mooring_status_writes_refused")).toBe(1);
    expect((await cluster.claim("frozen")).status).toBeUndefined();
    await cluster.api.patch(`${CLAIMS}/frozen`, { metadata: { labels: { refused: null } } });
    await cluster.claimThat("frozen", "known", isUnused);
    expect(await eventsOf("frozen")).toMatchObject([
      { reason: "StatusWriteRefused", note: expect.stringContaining("statuses of this claim are frozen") },
    ]);
    expect(logger.messages("warn")).toEqual(["claim needs attention"]);
    expect(await metric("mooring_status_writes_refused")).toBe(0);
  });
});

describe("an account without the permission to write claim status", () => {
  const ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/mooring-aggregator";
  const role = looseObject({ rules: array(looseObject({ resources: array(string()) })) });

  it("is reported by readiness, without an event on each claim, until the role exists", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `rightless-${index}`);
    await cluster.createClaims(names);
    const { rules } = parse(role, await cluster.api.get(ROLE));
    const without = rules.filter(({ resources }) => !resources.includes("persistentvolumeclaims/status"));
    await cluster.api.patch(ROLE, { rules: without });
    const { page, logger } = await aggregator();

    await until("readiness to say so", async () =>
      expect(await page("/readyz?verbose")).toMatch(
        /^\[-\]writes failed: no permission to write claim status in shop: .*cannot patch/m,
      ),
    );
    await cluster.api.patch(ROLE, { rules });

    await until("readiness", async () => expect(await page("/readyz?verbose")).toMatch(/^\[\+\]writes ok$/m));
    for (const name of names) await cluster.claimThat(name, "known", isUnused);
    expect(new Set(logger.messages("warn"))).toEqual(
      new Set(["API server did not take a claim status, will be tried again"]),
    );
  });
});
