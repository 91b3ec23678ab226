import { formatMillisecondsUp, formatSecondsUp } from "../common/storage/timestamp.ts";
import { formatAge } from "./age.ts";
import { type Cell, type Column, cutMiddle, type Table } from "./table.ts";
import type { Names, VolumeView } from "./volume-view.ts";

/** Options of the table of volumes. */
export interface VolumeTableView {
  /** Show everything that is known, in full. */
  readonly isWide: boolean;
  /** The aggregator has reported what it knows. */
  readonly hasLive: boolean;
  /** The API server's clock, at the earliest. Undefined: show times instead of ages. */
  readonly nowMs: number | undefined;
}

type ColumnOfVolumes = Column & { readonly cell: (volume: VolumeView, view: VolumeTableView) => string | Cell };

const COLUMNS: readonly ColumnOfVolumes[] = [
  { title: "VOLUME", shorten: cutMiddle, cell: ({ name }) => name },
  { title: "PHASE", cell: ({ phase }) => ({ text: phase, isAlarm: phase === "Failed" }) },
  { title: "SINCE", cell: sinceText },
  { title: "SIZE", cell: ({ capacity }) => capacity ?? "" },
  { title: "CLASS", cell: ({ storageClass }) => storageClass ?? "" },
  { title: "POLICY", cell: ({ reclaimPolicy }) => reclaimPolicy ?? "" },
  {
    title: "CLAIM",
    shorten: cutMiddle,
    cell: ({ claim }) => (claim === undefined ? "" : `${claim.namespace}/${claim.name}`),
  },
  { title: "MOUNTED ON", shorten: cutMiddle, cell: mountedText },
  { title: "ATTACHED TO", shorten: cutMiddle, cell: ({ attachedTo }, view) => namesText(attachedTo, view) },
  { title: "LAST USED", shorten: cutMiddle, cell: lastUseText },
];

const WIDE_COLUMNS: readonly ColumnOfVolumes[] = [
  { title: "SINCE FROM", cell: ({ since }) => since?.from ?? "" },
  { title: "DRIVER", cell: ({ driver }) => driver ?? "" },
];

const STAGED: ColumnOfVolumes = { title: "STAGED ON", cell: ({ stagedOn }, view) => namesText(stagedOn, view) };

/** One row per volume, in the given order. */
export function volumeTable(volumes: readonly VolumeView[], view: VolumeTableView): Table {
  const columns = [...COLUMNS, ...(view.isWide ? [...WIDE_COLUMNS, ...(view.hasLive ? [STAGED] : [])] : [])];
  return {
    columns: columns.map(({ title, shorten }) => ({ title, shorten: view.isWide ? undefined : shorten })),
    rows: volumes.map((volume) =>
      columns.map(({ cell }) => {
        const content = cell(volume, view);
        return typeof content === "string" ? { text: content } : content;
      }),
    ),
  };
}

/** Marks an age that counts from the first observation: the true age may be longer. */
function sinceText({ since }: VolumeView, { isWide, nowMs }: VolumeTableView): string {
  if (since === undefined) return "";
  if (isWide || nowMs === undefined) return formatSecondsUp(since.ms);
  return `${since.from === "first-seen" ? ">" : ""}${formatAge(nowMs - since.ms)}`;
}

/** Mounted although no claim is bound to it: a deletion would hit a volume in use. */
function mountedText({ mountedOn, phase }: VolumeView, view: VolumeTableView): Cell {
  const text = namesText(mountedOn, view);
  return { text, isAlarm: text !== "" && phase !== "Bound" };
}

function namesText(names: Names | undefined, { isWide }: VolumeTableView): string {
  if (names === undefined) return "?";
  const { items, omitted } = names;
  const more = omitted === "some" ? "…" : `+${omitted}`;
  if (isWide) return [...items, ...(omitted === 0 ? [] : [more])].join(",");
  const [first = "", ...others] = items;
  if (others.length === 0 && omitted === 0) return first;
  return omitted === "some" ? `${first} +${others.length}…` : `${first} +${others.length + omitted}`;
}

/** While the volume is mounted its last finished use is not shown. */
function lastUseText({ lastUse, mountedOn }: VolumeView, { isWide, nowMs }: VolumeTableView): string {
  if (lastUse === undefined || mountedOn.items.length > 0) return "";
  const { byMs } = lastUse;
  const when = isWide || nowMs === undefined ? formatMillisecondsUp(byMs) : `${formatAge(nowMs - byMs)} ago`;
  const pod = lastUse.pod ?? lastUse.podUid;
  return pod === undefined ? when : `${when} by ${pod}`;
}
