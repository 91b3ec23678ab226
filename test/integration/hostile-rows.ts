import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";

/** A merge patch on one object of a victim: a claim, its volume, a pod that names it, or that pod's node. */
export interface HostileChange {
  readonly name: string;
  readonly on: "claim" | "claim-status" | "volume" | "volume-status" | "pod" | "pod-status" | "node" | "node-status";
  readonly patch: (victim: { readonly uid: string; readonly nowMs: number }) => object;
}

const TIMES = ["0001-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "9999-12-31T23:59:59Z"] as const;
const NUMBERS = [
  "1e18",
  "1e14",
  "-1",
  "-1e18",
  "0.5",
  "5e-324",
  "1e308",
  "1e999",
  "3155759999999",
  '"1"',
  "null",
] as const;
const VERSIONS = ["1", "-9223372036854775808", "9223372036854775807", "9".repeat(40), "0x1", ""] as const;

function annotated(name: string, text: string): object {
  return { metadata: { annotations: { [`mooring.dev/${name}`]: text } } };
}

/** The last use as a user who may edit the claim writes it: its own, a moment after the real end, but for one field. */
function lastUse(field: string, json: string, on: "claim" | "volume" = "claim"): HostileChange {
  return {
    name: `a last use of a ${on} with ${field} ${json.slice(0, 30)}`,
    on,
    patch: ({ uid, nowMs }) => {
      const good = { claimUID: uid, release: "forged", node: "n1", uncertaintyMs: 1, evidence: "mount-table" };
      const text = JSON.stringify({ ...good, releasedAt: formatSoon(nowMs), [field]: "@" });
      return annotated("last-use", text.replace('"@"', json));
    },
  };
}

/** Rounded up, and not so far ahead that it is not believed. */
function formatSoon(nowMs: number): string {
  return formatMillisecondsUp(nowMs + 3_000);
}

function condition(lastTransitionTime: string): object {
  const own = { type: "mooring.dev/Unused", status: "False", reason: "Mounted", message: "forged" };
  return { status: { conditions: [{ ...own, lastTransitionTime }] } };
}

/** That of a volume that is staged, beside one that says that it is unused. */
function staged(lastTransitionTime: string, message: string): object {
  const unused = { type: "mooring.dev/Unused", status: "True", reason: "Unmounted", message: "forged" };
  const own = { type: "mooring.dev/Staged", status: "True", reason: "Staged", message };
  return { status: { conditions: [unused, own].map((one) => ({ ...one, lastTransitionTime })) } };
}

const terminated = (time: string, restartCount: number): object => {
  const state = { terminated: { exitCode: 2 ** 31 - 1, startedAt: time, finishedAt: time } };
  const one = { name: "main", image: "none", imageID: "", ready: false, restartCount, state, lastState: state };
  return { status: { phase: "Running", startTime: time, containerStatuses: [one] } };
};

function affinity(value: string): object {
  const matchExpressions = [{ key: "size", operator: "Gt", values: [value] }];
  return { spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } } };
}

/** One field of one object each. What the API server does not admit is no danger, and none of the test's business. */
export const CHANGES: readonly HostileChange[] = [
  ...NUMBERS.map((json) => lastUse("uncertaintyMs", json)),
  ...[...TIMES, "275760-09-13T00:00:00Z", "", "soon"].map((time) => lastUse("releasedAt", JSON.stringify(time))),
  ...["release", "node", "pod", "podUID"].map((field) => lastUse(field, JSON.stringify("x".repeat(10_000)))),
  ...["node-gone", "pod-status"].map((evidence) => lastUse("evidence", JSON.stringify(evidence))),
  ...TIMES.map((time) => lastUse("blindGap", JSON.stringify({ from: "0001-01-01T00:00:00Z", to: time }))),
  ...TIMES.map((time): HostileChange => {
    return { name: `a forged condition since ${time}`, on: "claim-status", patch: () => condition(time) };
  }),
  ...[...TIMES, "x"].map((time): HostileChange => {
    return { name: `unused since ${time}`, on: "claim", patch: () => annotated("unused-since", time) };
  }),
  ...["[]", '{"nodes":1e999}', "9".repeat(400)].map((text): HostileChange => {
    return { name: `mounted on ${text.slice(0, 20)}`, on: "claim", patch: () => annotated("mounted-on", text) };
  }),
  ...TIMES.map((time): HostileChange => {
    const patch = () => staged(time, "x".repeat(30_000));
    return { name: `staged since ${time}`, on: "claim-status", patch };
  }),
  ...["", "x".repeat(20_000), "\u001b[2J\u202e"].map((text): HostileChange => {
    const patch = ({ uid }: { readonly uid: string }) => annotated("force-release", uid.slice(0, 8) + text);
    return { name: `an override because of ${text.length} characters`, on: "claim", patch };
  }),
  ...NUMBERS.map((json) => lastUse("uncertaintyMs", json, "volume")),
  ...TIMES.map((time) => lastUse("releasedAt", JSON.stringify(time), "volume")),
  ...["[]", '{"nodes":1e999}', "9".repeat(20_000)].map((text): HostileChange => {
    return { name: `a mark ${text.slice(0, 20)}`, on: "volume", patch: () => annotated("mounted-on", text) };
  }),
  ...["9e30", "9223372036854775807E", "1n", "0"].map((storage): HostileChange => {
    return { name: `a volume of ${storage}`, on: "volume", patch: () => ({ spec: { capacity: { storage } } }) };
  }),
  {
    name: "a class of 20,000 letters",
    on: "volume",
    patch: () => ({ spec: { storageClassName: "x".repeat(20_000) } }),
  },
  { name: "a capacity without end", on: "claim-status", patch: () => ({ status: { capacity: { storage: "9e30" } } }) },
  ...TIMES.map((time): HostileChange => {
    const patch = () => ({ status: { phase: "Bound", lastPhaseTransitionTime: time } });
    return { name: `a volume bound since ${time}`, on: "volume-status", patch };
  }),
  ...VERSIONS.map((value): HostileChange => {
    return { name: `a volume for sizes above ${value.slice(0, 20)}`, on: "volume", patch: () => affinity(value) };
  }),
  {
    name: "a volume of another claim",
    on: "volume",
    patch: () => ({ spec: { claimRef: { uid: "none", resourceVersion: "x" } } }),
  },
  ...TIMES.map((time): HostileChange => {
    return { name: `a pod that ended at ${time}`, on: "pod-status", patch: () => terminated(time, 2 ** 31 - 1) };
  }),
  ...['{"level":1e999}', '{"at":"9999-12-31T23:59:59.9Z","level":-1}', "[".repeat(1_000)].map((text): HostileChange => {
    return { name: `a pod rejected by ${text.slice(0, 20)}`, on: "pod", patch: () => annotated("rejected", text) };
  }),
  ...VERSIONS.map((value): HostileChange => {
    return {
      name: `a node of size ${value.slice(0, 20)}`,
      on: "node",
      patch: () => ({ metadata: { labels: { size: value } } }),
    };
  }),
  {
    name: "a node out of service",
    on: "node",
    patch: () => ({ spec: { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] } }),
  },
  {
    name: "a node in use of odd volumes",
    on: "node-status",
    patch: () => ({
      status: { volumesInUse: ["^", "kubernetes.io/csi/^", `kubernetes.io/csi/a^${"b".repeat(9_000)}`] },
    }),
  },
  ...TIMES.map((time): HostileChange => {
    const one = { type: "Ready", status: "Unknown", lastHeartbeatTime: time, lastTransitionTime: time };
    return {
      name: `a node not ready since ${time}`,
      on: "node-status",
      patch: () => ({ status: { conditions: [one] } }),
    };
  }),
];

/** So many of the pairs, the same each time. */
export function somePairs<T>(rows: readonly T[], count: number): readonly (readonly T[])[] {
  let state = 20;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * rows.length);
  };
  return Array.from({ length: count }, () => [rows.at(next()), rows.at(next())].filter((row) => row !== undefined));
}
