import { type Attack, patch, remove, ruled, write } from "./attack.ts";

const VOLUME = "/api/v1/persistentvolumes/pv-data";
const STATUS = `${VOLUME}/status`;

const RULES = {
  status: "mooring-aggregator: the aggregator must not change a claim's or a volume's phase, capacity",
  metadata: "mooring-aggregator: the aggregator must not change labels, finalizers, owners",
  annotations: "mooring-aggregator: the aggregator must not change an annotation that is not its own",
  length: "mooring-aggregator: the aggregator must not write an annotation that is longer",
} as const;

function volume(name: string, body: object, rule: keyof typeof RULES): Attack {
  return ruled("aggregator", name, { ask: patch(STATUS, body), rule: RULES[rule] });
}

function annotated(name: string, annotations: object | null, rule: keyof typeof RULES = "annotations"): Attack {
  return volume(name, { metadata: { annotations } }, rule);
}

/** What the aggregator must not do to volumes, of which it may write two annotations. */
export const AGGREGATOR_VOLUME_ATTACKS: readonly Attack[] = [
  volume("calls a volume failed", { status: { phase: "Failed" } }, "status"),
  volume(
    "says since when a volume is released",
    { status: { lastPhaseTransitionTime: "2020-01-01T00:00:00Z" } },
    "status",
  ),
  volume("gives a volume a reason", { status: { reason: "Deleted" } }, "status"),
  volume("labels a volume through its status", { metadata: { labels: { zone: "elsewhere" } } }, "metadata"),
  volume("takes a volume's protection away", { metadata: { finalizers: null } }, "metadata"),
  volume(
    "keeps a volume for ever",
    { metadata: { finalizers: ["kubernetes.io/pv-protection", "evil.example.com/x"] } },
    "metadata",
  ),
  volume(
    "gives a volume an owner that is gone, for the garbage collector",
    { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "x" }] } },
    "metadata",
  ),
  annotated("says that another driver made a volume", { "pv.kubernetes.io/provisioned-by": "evil.example.com" }),
  annotated("takes all annotations of a volume away", null),
  annotated("overrides the protection of a volume", { "mooring.dev/force-release": "0" }),
  annotated("writes an annotation of claims onto a volume", { "mooring.dev/unused-since": "2020-01-01T00:00:00Z" }),
  annotated("writes a very long annotation of a volume", { "mooring.dev/mounted-on": "x".repeat(16_385) }, "length"),
  write("aggregator", "moves a volume", patch(VOLUME, { metadata: { labels: { a: "b" } } })),
  write("aggregator", "frees a volume", patch(VOLUME, { spec: { claimRef: null } })),
  write(
    "aggregator",
    "has a volume deleted with its claim",
    patch(VOLUME, { spec: { persistentVolumeReclaimPolicy: "Delete" } }),
  ),
  write(
    "aggregator",
    "marks a volume itself",
    patch(VOLUME, { metadata: { annotations: { "mooring.dev/mounted-on": "{}" } } }),
  ),
  write("aggregator", "deletes a volume", remove(VOLUME)),
];
