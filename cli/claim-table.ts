import { formatMillisecondsUp, formatSecondsUp } from "../common/storage/timestamp.ts";
import { formatAge, formatUncertainty } from "./age.ts";
import type { ClaimUse, UseStatus } from "./claim-use.ts";
import { type Cell, type Column, cutMiddle, type Table } from "./table.ts";

/** How claims are shown in a table. */
export interface TableView {
  /** Claims of several namespaces. */
  readonly withNamespace: boolean;
  /** Everything that is known, in full. */
  readonly isWide: boolean;
  /** The API server's clock, at the earliest: an idle time is rather too short than too long. Unknown: times instead of ages. */
  readonly nowMs: number | undefined;
}

type ColumnOfUses = Column & { readonly cell: (use: ClaimUse, view: TableView) => string | Cell };

const NAMESPACE: ColumnOfUses = { title: "NAMESPACE", cell: ({ claim }) => claim.namespace };

const COLUMNS: readonly ColumnOfUses[] = [
  { title: "CLAIM", cell: ({ claim }) => claim.name },
  { title: "STATUS", cell: (use) => ({ text: statusText(use), isAlarm: use.disagrees }) },
  { title: "SINCE", cell: ({ sinceMs }, view) => timeText(sinceMs, view) },
  { title: "EVIDENCE", cell: ({ evidence }) => evidence ?? "" },
  { title: "NODE", shorten: shortenNode, cell: nodesText },
  { title: "LAST POD", shorten: cutMiddle, cell: lastPodText },
  { title: "KUBERNETES", cell: kubernetesCell },
];

const WIDE_COLUMNS: readonly ColumnOfUses[] = [
  { title: "VOLUME", cell: ({ claim }) => claim.volume ?? "" },
  { title: "REASON", cell: ({ claim }) => claim.status?.reason ?? "" },
  { title: "RELEASED AT", cell: ({ lastUse }) => (lastUse ? formatMillisecondsUp(lastUse.releasedAtMs) : "") },
  { title: "UNCERTAINTY", cell: uncertaintyText },
  { title: "MESSAGE", cell: ({ claim }) => claim.status?.message ?? "" },
];

/** A row for each claim, in the order given. */
export function tableOf(uses: readonly ClaimUse[], view: TableView): Table {
  const columns = [...(view.withNamespace ? [NAMESPACE] : []), ...COLUMNS, ...(view.isWide ? WIDE_COLUMNS : [])];
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

/** A condition outlives the binding, so the phase is said, too, where it is not what the status already means. */
function statusText({ claim, status }: ClaimUse): string {
  if (status === "NotBound") return `${claim.phase || "Not bound"}${claim.isDeleting ? " (deleting)" : ""}`;
  const remarks = [
    ...(claim.phase === "Bound" ? [] : [claim.phase.toLowerCase() || "not bound"]),
    ...(claim.isDeleting ? ["deleting"] : []),
  ];
  return `${STATUS_TEXT[status]}${remarks.length === 0 ? "" : ` (${remarks.join(", ")})`}`;
}

function timeText(ms: number | undefined, { isWide, nowMs }: TableView): string {
  if (ms === undefined) return "";
  return isWide || nowMs === undefined ? formatSecondsUp(ms) : formatAge(nowMs - ms);
}

function nodesText({ nodes, hasMoreNodes }: ClaimUse, { isWide }: TableView): string {
  if (isWide) return [...nodes, ...(hasMoreNodes ? ["…"] : [])].join(",");
  const [first, ...others] = nodes;
  if (first === undefined || (others.length === 0 && !hasMoreNodes)) return first ?? "";
  return `${first} +${others.length}${hasMoreNodes ? "…" : ""}`;
}

/** The domain of a node says the least, so it goes first; a name that is an IP address has none. */
function shortenNode(text: string, room: number): string {
  return cutMiddle(text.replace(/^([^.\s]*[a-z][^.\s]*)\.\S+/, "$1"), room);
}

/** While the claim is mounted the last use that is over is not what anybody looks for: it would pass for the present one. */
function lastPodText({ status, lastUse, claim }: ClaimUse): string {
  if (status === "Mounted") return "";
  const pod = lastUse?.pod ?? lastUse?.podUid ?? "";
  const own = `${claim.namespace}/`;
  return pod.startsWith(own) ? pod.slice(own.length) : pod;
}

function uncertaintyText({ lastUse }: ClaimUse): string {
  if (lastUse === undefined) return "";
  return lastUse.uncertaintyMs === undefined ? "unknown" : formatUncertainty(lastUse.uncertaintyMs);
}

function kubernetesCell({ kubernetes, disagrees }: ClaimUse, view: TableView): Cell {
  if (kubernetes === undefined) return { text: "" };
  const since = timeText(kubernetes.sinceMs, view);
  const text = `${kubernetes.unused ? "Unused" : "In use"}${since && ` ${since}`}`;
  return disagrees ? { text: `${text} DISAGREES`, isAlarm: true } : { text };
}
