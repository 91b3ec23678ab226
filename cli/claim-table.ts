import { formatMillisecondsUp, formatSecondsUp } from "../common/storage/timestamp.ts";
import { formatAge, formatUncertainty } from "./age.ts";
import type { ClaimUse, LiveUse, UseStatus } from "./claim-use.ts";
import { type Cell, type Column, cutMiddle, type Table } from "./table.ts";

/** Options of the table of claims. */
export interface TableView {
  /** The table contains claims of several namespaces. */
  readonly withNamespace: boolean;
  /** Show everything that is known, in full. */
  readonly isWide: boolean;
  /** The aggregator has reported what it knows beyond the conditions. */
  readonly hasLive: boolean;
  /** The API server's clock, at the earliest: an idle time is rather too short than too long. Undefined: show times instead of ages. */
  readonly nowMs: number | undefined;
}

type ColumnOfUses = Column & { readonly cell: (use: ClaimUse, view: TableView) => string | Cell };

const NAMESPACE: ColumnOfUses = { title: "NAMESPACE", cell: ({ claim }) => claim.namespace };

const COLUMNS: readonly ColumnOfUses[] = [
  { title: "CLAIM", cell: ({ claim }) => claim.name },
  { title: "STATUS", cell: (use) => ({ text: statusText(use), isAlarm: use.unusedWhileMounted }) },
  { title: "SINCE", cell: ({ sinceMs }, view) => timeText(sinceMs, view) },
  { title: "EVIDENCE", cell: ({ evidence }) => evidence ?? "" },
  { title: "NODE", shorten: shortenNode, cell: nodesText },
  { title: "LAST POD", shorten: cutMiddle, cell: lastPodText },
  { title: "KUBERNETES", cell: kubernetesCell },
];

/** Only where some node is pending, which is rare. */
const PENDING_NODES: ColumnOfUses = { title: "PENDING NODES", shorten: shortenPending, cell: pendingText };

const WIDE_COLUMNS: readonly ColumnOfUses[] = [
  { title: "VOLUME", cell: ({ claim }) => claim.volume ?? "" },
  { title: "CLASS", cell: ({ claim }) => claim.storageClass ?? "" },
  { title: "SIZE", cell: ({ claim }) => claim.capacity ?? "" },
  { title: "REASON", cell: ({ claim }) => claim.status?.reason ?? "" },
  { title: "RELEASED AT", cell: ({ lastUse }) => (lastUse ? formatMillisecondsUp(lastUse.byMs) : "") },
  { title: "UNCERTAINTY", cell: uncertaintyText },
];

const LIVE_COLUMNS: readonly ColumnOfUses[] = [
  { title: "MOUNTED BY", cell: ({ live }) => joined(live?.mountedOn, mountText) },
  { title: "REFERRED TO BY", cell: ({ live }) => joined(live?.references, ({ pod }) => pod) },
  { title: "STAGED ON", cell: ({ live }) => joined(live?.stagedOn, nodeText) },
];

const MESSAGE: ColumnOfUses = { title: "MESSAGE", cell: ({ claim }) => claim.status?.message ?? "" };

/** One row per claim, in the given order. */
export function tableOf(uses: readonly ClaimUse[], view: TableView): Table {
  const columns = [
    ...(view.withNamespace ? [NAMESPACE] : []),
    ...COLUMNS,
    ...(uses.some(({ isPending }) => isPending) ? [PENDING_NODES] : []),
    ...(view.isWide ? [...WIDE_COLUMNS, ...(view.hasLive ? LIVE_COLUMNS : []), MESSAGE] : []),
  ];
  return {
    columns: columns.map(({ title, shorten }) => ({ title, shorten: view.isWide ? undefined : shorten })),
    rows: uses.map((use) =>
      columns.map(({ cell }) => {
        const content = cell(use, view);
        return typeof content === "string" ? { text: content } : content;
      }),
    ),
  };
}

const STATUS_TEXT: Readonly<Record<Exclude<UseStatus, "NotBound">, string>> = {
  Mounted: "Mounted",
  Referenced: "Referenced",
  Unused: "Unused",
  NotWatched: "Not watched",
};

/** A condition outlives the binding, so the phase is shown, too, unless the status already implies it. */
function statusText({ claim, status, isDeletionHeld }: ClaimUse): string {
  if (status === "NotBound") return `${claim.phase || "Not bound"}${claim.isDeleting ? " (deleting)" : ""}`;
  const remarks = [
    ...(claim.phase === "Bound" ? [] : [claim.phase.toLowerCase() || "not bound"]),
    ...(claim.isDeleting ? ["deleting"] : []),
    ...(isDeletionHeld === true ? ["kept"] : []),
  ];
  return `${STATUS_TEXT[status]}${remarks.length === 0 ? "" : ` (${remarks.join(", ")})`}`;
}

function timeText(ms: number | undefined, { isWide, nowMs }: TableView): string {
  if (ms === undefined) return "";
  return isWide || nowMs === undefined ? formatSecondsUp(ms) : formatAge(nowMs - ms);
}

function nodesText({ nodes, omittedNodes }: ClaimUse, { isWide }: TableView): string {
  const omitted = omittedNodes === "some" ? "…" : `+${omittedNodes}`;
  if (isWide) return [...nodes, ...(omittedNodes === 0 ? [] : [omitted])].join(",");
  const [first, ...others] = nodes;
  if (first === undefined || (others.length === 0 && omittedNodes === 0)) return first ?? "";
  return omittedNodes === "some" ? `${first} +${others.length}…` : `${first} +${others.length + omittedNodes}`;
}

/** In a narrow table: the first node that must report, and how many more must. */
function pendingText({ live, isPending }: ClaimUse, { isWide }: TableView): string {
  if (live === undefined || !isPending) return "";
  const { items, omitted } = live.pendingNodes;
  const [first] = items;
  if (first === undefined && live.podsUnwatched) return UNWATCHED;
  if (isWide) return joined(live.pendingNodes, stateText);
  const others = items.length + omitted - 1;
  return first === undefined ? "" : `${stateText(first)}${others > 0 ? ` +${others}` : ""}`;
}

/** The claim waits for the aggregator's own watch of pods, not for a node. */
const UNWATCHED = "pods not watched";

/** The node's name is more informative than its state. */
function shortenPending(text: string, room: number): string {
  return text.length <= room ? text : shortenNode(text.replace(/ \([^()]*\)/, ""), room);
}

const STATE_TEXT: Readonly<Record<string, string>> = {
  Stale: "stale",
  NoAgent: "no agent",
  Gone: "gone",
  Unreported: "not reported yet",
  ScanDue: "scan due",
};

function stateText({ node, state }: { readonly node: string; readonly state: string }): string {
  return `${node} (${STATE_TEXT[state] ?? state})`;
}

/** A node that reports normally needs no remark. */
function nodeText({ node, state }: { readonly node: string; readonly state: string }): string {
  return state === "Reporting" ? node : stateText({ node, state });
}

function mountText(mount: LiveUse["mountedOn"]["items"][number]): string {
  const pods = joined(mount.pods, ({ uid, name, gone }) => `${name ?? uid}${gone ? " (gone)" : ""}`);
  return `${nodeText(mount)}: ${pods}`;
}

/** The first of many, and how many more there are. */
interface Capped<T> {
  readonly items: readonly T[];
  readonly omitted: number;
}

function joined<T>(values: Capped<T> | undefined, toText: (value: T) => string): string {
  const { items, omitted } = values ?? { items: [], omitted: 0 };
  return [...items.map(toText), ...(omitted > 0 ? [`+${omitted}`] : [])].join(", ");
}

/** The domain of a node's name is the least informative part, so it is dropped first; an IP address has none. */
function shortenNode(text: string, room: number): string {
  return cutMiddle(text.replace(/^([^a-z.\s]*[a-z][^.\s]*)\.\S+/, "$1"), room);
}

/** While the claim is mounted its last finished use is not shown: a reader would take it for the present use. */
function lastPodText({ status, lastUse, claim }: ClaimUse): string {
  if (status === "Mounted") return "";
  const pod = lastUse?.pod ?? lastUse?.podUid ?? "";
  const own = `${claim.namespace}/`;
  return pod.startsWith(own) ? pod.slice(own.length) : pod;
}

function uncertaintyText({ lastUse }: ClaimUse): string {
  if (lastUse === undefined) return "";
  return lastUse.widthMs === undefined ? "unknown" : formatUncertainty(lastUse.widthMs);
}

function kubernetesCell({ kubernetes, unusedWhileMounted }: ClaimUse, view: TableView): Cell {
  if (kubernetes === undefined) return { text: "" };
  const since = timeText(kubernetes.sinceMs, view);
  const text = `${kubernetes.unused ? "Unused" : "In use"}${since && ` ${since}`}`;
  return unusedWhileMounted ? { text: `${text} STILL MOUNTED`, isAlarm: true } : { text };
}
