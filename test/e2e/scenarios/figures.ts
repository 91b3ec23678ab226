import { formatMillisecondsUp, formatSecondsUp } from "../../../common/storage/timestamp.ts";
import type { Author } from "./claim-states.ts";
import type { Truth } from "./scenario.ts";
import type { FinalCondition, Verdict } from "./verdict.ts";

/** The result of a scenario. */
export interface Figure {
  readonly scenario: string;
  readonly truth: Truth | undefined;
  readonly verdict: Verdict;
}

const HEAD = [
  "scenario",
  "true last use",
  "Mooring: unused since",
  "error",
  "Kubernetes: unused since",
  "error",
  "judged",
] as const;

/** A table of figures with its head; times are UTC. */
export function figureRows(figures: readonly Figure[]): readonly (readonly string[])[] {
  return [
    HEAD,
    ...figures.map(({ scenario, truth, verdict }) => [
      scenario,
      truth === undefined ? "-" : clockTime(truth.byMs),
      ...cellsOf("mooring", verdict),
      ...cellsOf("kubernetes", verdict),
      chancesIn(verdict),
    ]),
  ];
}

/** The same as Markdown. */
export function figureMarkdown(figures: readonly Figure[]): string {
  const [head = [], ...rows] = figureRows(figures);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("");
}

/** How often a promise was judged, and how often it was not. */
function chancesIn({ chances }: Verdict): string {
  const all = Object.values(chances);
  const judged = all.reduce((sum, one) => sum + one.judged, 0);
  const excused = all.flatMap((one) => Object.values(one.excused)).reduce((sum, count) => sum + count, 0);
  return excused === 0 ? String(judged) : `${judged}, ${excused} excused`;
}

function cellsOf(author: Author, { final, wronglyUnusedAt }: Verdict): readonly [since: string, error: string] {
  const saying = final[author];
  const wrongAt = wronglyUnusedAt[author];
  const wrong = wrongAt === undefined ? [] : [`wrongly unused at ${clockTime(wrongAt)}`];
  if (saying === undefined) return ["-", wrong.join() || "-"];
  const since = saying.status === "True" ? formatSecondsUp(saying.sinceMs).slice(11, 19) : "in use";
  return [since, [...errorOf(saying), ...wrong].join("; ") || "-"];
}

function errorOf({ errorMs }: FinalCondition): readonly string[] {
  if (errorMs === undefined) return [];
  return [`${errorMs < 0 ? "-" : "+"}${(Math.abs(errorMs) / 1000).toFixed(2)} s`];
}

function clockTime(ms: number): string {
  return formatMillisecondsUp(ms).slice(11, 23);
}
