import { connect } from "../common/kube/connection.ts";
import { createSystemClock } from "../common/runtime/clock.ts";
import { type Attempt, explain, VOLUMES } from "./explain.ts";
import { type Printout, print, screenOf } from "./print.ts";
import { layOut } from "./table.ts";
import { readVolumesCommand, type VolumesFlags } from "./volume-flags.ts";
import { volumesJson } from "./volume-json.ts";
import { volumeNotices } from "./volume-notices.ts";
import { readVolumes, type VolumeListing } from "./volume-source.ts";
import { volumeTable } from "./volume-table.ts";
import { filterVolumes, sortVolumes } from "./volume-view.ts";

async function list(flags: VolumesFlags): Promise<Printout> {
  let attempt: Attempt = { server: undefined, requested: VOLUMES };
  try {
    const { kubeconfig, context, aggregator, filter, output } = flags;
    const connection = await connect({ kubeconfig, context, inCluster: false }, process.env);
    attempt = { server: connection.server, requested: VOLUMES };
    const { signal } = new AbortController();
    const all = await readVolumes({ connection, aggregator, clock: createSystemClock(), signal });
    const listing = { ...all, items: sortVolumes(filterVolumes(all.items, filter)) };
    const isFiltered = listing.items.length < all.items.length;
    const notices = volumeNotices(listing, { isWide: output === "wide", isFiltered });
    return { text: render(listing, flags), notices, code: 0 };
  } catch (error) {
    const lines = explain(error, attempt);
    if (lines === undefined) throw error;
    return { text: "", notices: [`error: ${lines[0]}`, ...lines.slice(1)], code: 1 };
  }
}

function render(listing: VolumeListing, { output }: VolumesFlags): string {
  if (output === "json") return volumesJson(listing);
  const { items, nowMs, source } = listing;
  if (items.length === 0) return "";
  const isWide = output === "wide";
  return layOut(volumeTable(items, { isWide, hasLive: source.kind === "aggregator", nowMs }), screenOf(isWide));
}

async function printoutFor(argv: readonly string[]): Promise<Printout> {
  const command = readVolumesCommand({ argv, env: process.env });
  if (command.kind === "list") return await list(command.flags);
  if (command.kind === "help") return { text: command.text, notices: [], code: 0 };
  return { text: "", notices: [command.text.trimEnd()], code: 1 };
}

await print(printoutFor(process.argv.slice(2)));
