import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ownerEvent, type PodEventKind, podEvent } from "../../../agent/sinks/affinity-events.ts";
import { anomalyEvent } from "../../../agent/sinks/anomaly-events.ts";
import { type ClaimWarning, claimEvent } from "../../../aggregator/sinks/claim-events.ts";
import type { KubeEvent } from "../../../common/kube/kube-event.ts";
import {
  CLAIM_EVENT_KINDS,
  claimEvent as provisionerClaimEvent,
  VOLUME_EVENT_KINDS,
  volumeEvent,
} from "../../../provisioner/sinks/provisioner-events.ts";
import { claimWith, NOON } from "../aggregator/world.ts";

const root = new URL("../../../", import.meta.url);
const page = readFileSync(new URL("docs/events.md", root), "utf8");

const VOLUME = { volume: "data", claim: "team/data", pv: "pv-1", why: "it does" } as const;
const ABOUT = {
  pod: { namespace: "team", name: "web", uid: "u1" },
  misplacement: { node: "n1", volumes: [VOLUME] },
  nowMs: NOON,
} as const;
const TELLINGS: Readonly<Record<PodEventKind, true>> = {
  rejected: true,
  "would-reject": true,
  "waits-attached": true,
  "runs-misplaced": true,
};
const WARNINGS: Readonly<Record<ClaimWarning["kind"], ClaimWarning>> = {
  "unused-while-mounted": { kind: "unused-while-mounted", nodes: ["n1"] },
  "write-refused": { kind: "write-refused", reason: "Invalid", err: "no" },
  "put-back": { kind: "put-back", annotation: undefined, managers: [] },
  "deletion-held": { kind: "deletion-held", mounts: [] },
  "force-released": { kind: "force-released", mounts: [], why: "" },
  "removed-while-mounted": { kind: "removed-while-mounted", mounts: [], cause: "override" },
};

/** One of each kind: the compiler asks for those that are new. */
function everyEvent(): readonly { readonly by: string; readonly event: KubeEvent }[] {
  const mountedVolume = { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1" } as const;
  const anomaly = anomalyEvent(
    { kind: "anomaly", mountedVolume, pod: "team/web", why: "unmounted-while-running" },
    { node: "n1", nowMs: NOON },
  );
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r1" };
  const back = { namespace: "team", node: "n1", why: "too many", waitMs: 1_000, nowMs: NOON };
  const tellings = Object.keys(TELLINGS).flatMap((one) => (isTelling(one) ? [podEvent(one, ABOUT)] : []));
  const byAgent = [...(anomaly === undefined ? [] : [anomaly]), ...tellings, ownerEvent(owner, back)];
  const byAggregator = Object.values(WARNINGS).map((warning) => claimEvent(claimWith(), warning, NOON));
  const about = { note: "it does", nowMs: NOON };
  const byProvisioner = [
    ...CLAIM_EVENT_KINDS.map((kind) => provisionerClaimEvent(ABOUT.pod, kind, about)),
    ...VOLUME_EVENT_KINDS.map((kind) => volumeEvent(ABOUT.pod, kind, about)),
  ];
  return [
    ...byProvisioner.map((event) => ({ by: "provisioner", event })),
    ...byAgent.map((event) => ({ by: "agent", event })),
    ...byAggregator.map((event) => ({ by: "aggregator", event })),
  ];
}

function isTelling(text: string): text is PodEventKind {
  return Object.hasOwn(TELLINGS, text);
}

/** What the page says of an event but for its last column. */
function rowOf({ by, event: { regarding, reason, action } }: ReturnType<typeof everyEvent>[number]): string {
  const about = ["Pod", "PersistentVolume", "PersistentVolumeClaim"].includes(regarding.kind)
    ? regarding.kind
    : "its controller";
  return `| \`${reason}\` | ${about} | \`${action}\` | ${by} |`;
}

describe("docs/events.md", () => {
  it("lists every event that the code can write, and no other", () => {
    const rows = page.split("\n").filter((line) => /^\| `[A-Z]/.test(line));

    expect(rows.map((row) => row.replace(/[^|]*\|$/, "")).toSorted()).toEqual(everyEvent().map(rowOf).toSorted());
  });

  it("knows all places of the code that make events", () => {
    const makers = ["agent", "aggregator", "cli", "provisioner"].flatMap((wing) =>
      readdirSync(new URL(wing, root), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .map((path) => `${wing}/${path}`)
        .filter((path) => /\breason(?::|,$)[\s\S]*\beventTime:/m.test(readFileSync(new URL(path, root), "utf8"))),
    );

    expect(makers.toSorted()).toEqual([
      "agent/sinks/affinity-events.ts",
      "agent/sinks/anomaly-events.ts",
      "aggregator/sinks/claim-events.ts",
      "provisioner/sinks/provisioner-events.ts",
    ]);
  });
});

describe("every event", () => {
  it.each(everyEvent().map(({ event }) => event))("$reason is in CamelCase, with a note that fits", (event) => {
    expect(event.reason).toMatch(/^([A-Z][a-z]+)+$/);
    expect(event.action).toMatch(/^([A-Z][a-z]+)+$/);
    // The limits of k8s.io/kubernetes/pkg/apis/core/validation (events.go).
    expect(event.reason.length).toBeLessThanOrEqual(128);
    expect(event.action.length).toBeLessThanOrEqual(128);
    expect(event.note.length).toBeLessThanOrEqual(1_024);
    expect(["Normal", "Warning"]).toContain(event.type);
  });
});
