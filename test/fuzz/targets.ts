import { HarnessError } from "../rig/process/errors.ts";
import type { FuzzTarget } from "./target.ts";
import { annotations, apiObjects, headers, selectors } from "./targets/api-objects.ts";
import { journalFile, journalLog, journalRows } from "./targets/journal.ts";
import { keeperFiles, keeperRequests } from "./targets/keeper.ts";
import { mountTable } from "./targets/mount-table.ts";
import { claimLines, nodeFacts, requests, settings } from "./targets/programs.ts";
import { fleet, reportAnswers, reports } from "./targets/reports.ts";
import { listPages, watchStream } from "./targets/streams.ts";
import { tokens } from "./targets/tokens.ts";

/** The parsers of everything that others write. */
export const TARGETS: readonly FuzzTarget[] = [
  ...[mountTable, reports, fleet, reportAnswers, requests, tokens, apiObjects, annotations, selectors],
  ...[watchStream, listPages, headers, journalRows, journalFile, journalLog, settings, claimLines, nodeFacts],
  ...[keeperRequests, keeperFiles],
];

/** Throws `HarnessError` for an unknown name. */
export function targetOf(name: string): FuzzTarget {
  const found = TARGETS.find((target) => target.name === name);
  if (found !== undefined) return found;
  throw new HarnessError(`there is no target ${name}; there are ${TARGETS.map((one) => one.name).join(", ")}`);
}
