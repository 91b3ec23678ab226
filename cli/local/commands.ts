import type { KubeClient } from "../../common/kube/client.ts";
import { type Printout, screenOf } from "../print.ts";
import { printable } from "../table.ts";
import { claimsToDelete, type DeletionResult, type Remains, whyNot } from "./forget.ts";
import { forget } from "./forget-run.ts";
import { readFacts, readRemains } from "./forget-source.ts";
import { type Orphans, orphansOf } from "./orphans.ts";
import { type PoolView, poolsOf, sumOf } from "./pools.ts";
import { jsonList, lossTable, orphanTable, poolTable, resultTable } from "./render.ts";
import { sizeText } from "./size-text.ts";
import { readLocalState } from "./source.ts";
import type { LocalState } from "./state.ts";

/** The server to ask, and the output format. */
export interface CommandContext {
  readonly client: KubeClient;
  readonly output: "table" | "json";
  readonly signal: AbortSignal;
}

export async function listPools({ client, output, signal }: CommandContext): Promise<Printout> {
  const state = await readLocalState(client, signal);
  const pools = poolsOf(state);
  const text = output === "json" ? jsonList("LocalPoolList", pools) : poolTable(pools, screenOf(false));
  return { text, notices: poolNotices(pools, state).map(printable), code: 0 };
}

function poolNotices(pools: readonly PoolView[], state: LocalState): readonly string[] {
  const none = "No pools: no StorageClass names local.mooring.dev, or no provisioner has published its room yet.";
  return [
    ...(pools.length === 0 ? [none] : []),
    ...missingPermissions(state),
    ...pools.flatMap(({ node, pool, problem }) =>
      problem === undefined ? [] : [`Pool "${pool}" of ${node}: ${problem}`],
    ),
  ];
}

export function missingPermissions({ missing }: LocalState): readonly string[] {
  return missing.map((resource) => `You lack the right "list ${resource}": what they would say is missing.`);
}

export async function listOrphans({ client, output, signal }: CommandContext): Promise<Printout> {
  const state = await readLocalState(client, signal);
  const orphans = orphansOf(state);
  const { items, more, unheard } = orphans;
  const text =
    output === "json" ? jsonList("LocalOrphanList", items, { more, unheard }) : orphanTable(orphans, screenOf(false));
  return { text, notices: orphanNotices(orphans, state).map(printable), code: 0 };
}

function orphanNotices({ items, more, unheard }: Orphans, state: LocalState): readonly string[] {
  return [
    ...(items.length === 0 ? ["Nothing is left over."] : []),
    ...missingPermissions(state),
    ...(more === 0 ? [] : [`${more} more are not named here: see the logs of the provisioners.`]),
    ...(unheard.length === 0 ? [] : [`No provisioner runs on ${unheard.join(", ")}: what is there is not known now.`]),
  ];
}

export async function forgetNode(
  { client, output, signal }: CommandContext,
  { node, isConfirmed }: { readonly node: string; readonly isConfirmed: boolean },
): Promise<Printout> {
  const why = whyNot(await readFacts(client, node, signal));
  if (why !== undefined) return { text: "", notices: [`error: ${printable(why)}`], code: 1 };
  const remains = await readRemains(client, node, signal);
  if (remains.losses.length + remains.reports.length === 0) {
    const text = output === "json" ? jsonList("ForgottenList", [], { node }) : "";
    return { text, notices: [`Nothing is left of node ${node}.`], code: 0 };
  }
  if (!isConfirmed) return planned(node, remains, output);
  return done({ node, remains, output }, await forget({ client, node, signal }, remains));
}

function planned(node: string, { losses, reports }: Remains, output: CommandContext["output"]): Printout {
  const items = losses.map(({ volume, pods }) => ({ ...volume, pods }));
  const text = output === "json" ? jsonList("ForgetPlan", items, { node }) : lossTable(losses, screenOf(false));
  const bytes = sizeText(sumOf(losses.map(({ volume }) => volume)));
  const count = `${losses.length} PersistentVolumes (${bytes}) and ${reports.length} CSIStorageCapacity objects`;
  return { text, notices: [`Nothing was deleted. --yes deletes ${count} of node ${node} for good.`], code: 1 };
}

function done(
  {
    node,
    remains,
    output,
  }: { readonly node: string; readonly remains: Remains; readonly output: CommandContext["output"] },
  results: readonly DeletionResult[],
): Printout {
  const text = output === "json" ? jsonList("ForgottenList", results, { node }) : resultTable(results, screenOf(false));
  const isInterrupted = results.some(({ outcome }) => outcome === "not reached");
  const isWhole = results.every(({ outcome }) => outcome === "deleted" || outcome === "was gone");
  const claims = claimsToDelete(remains.losses);
  const notices = [
    ...(claims.length === 0 ? [] : ["Claims that have lost their volume, and keep their pods from starting:"]),
    ...claims.map((command) => `  ${command}`),
    ...(isWhole ? [] : [`Not all is done: run "forget ${node} --yes" again.`]),
  ];
  if (isInterrupted) return { text, notices: notices.map(printable), code: 130 };
  return { text, notices: notices.map(printable), code: isWhole ? 0 : 1 };
}
