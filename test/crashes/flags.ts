import { parseArgs } from "node:util";
import { explain, HarnessError } from "../rig/process/errors.ts";
import type { CampaignSize } from "./plan.ts";

export const HELP = `Kills agents, aggregators and the API server at random moments of real uses of claims, and judges the published statuses.

  npm run crashes -- [options]

  --seed N        another plan of uses and kills; the same number gives the same plan (1)
  --rounds N      number of checkpoints: all processes run, and every last use is published (10)
  --unmounts N    of all claims together (300)
  --kills N       of each agent, of the leader and of the standby, at least (30)
  --api-kills N   of the API server (4)
  --absences N    how often an agent is down for a whole use (10)
  --blackouts N   how often all of Mooring is down for a whole use (5)
  --keep FOLDER   save the record and the logs of all processes there
  --help          this text
`;

/** The parsed command line. */
export interface CrashFlags {
  readonly size: CampaignSize;
  /** A folder. */
  readonly keep: string | undefined;
  readonly help: boolean;
}

/** Throws a HarnessError for a flag that it does not know. */
export function readFlags(argv: readonly string[]): CrashFlags {
  const values = valuesOf(argv);
  const number = (name: keyof typeof DEFAULTS): number => {
    const text = values[name] ?? DEFAULTS[name];
    if (!/^\d{1,9}$/.test(text)) throw new HarnessError(`--${name} ${text} is no number (--help lists the options)`);
    return Number(text);
  };
  const size: CampaignSize = {
    seed: number("seed"),
    rounds: Math.max(1, number("rounds")),
    unmounts: number("unmounts"),
    kills: number("kills"),
    apiServerKills: number("api-kills"),
    absences: number("absences"),
    blackouts: number("blackouts"),
  };
  return { size, keep: values.keep, help: values.help ?? false };
}

const DEFAULTS = {
  seed: "1",
  rounds: "10",
  unmounts: "300",
  kills: "30",
  "api-kills": "4",
  absences: "10",
  blackouts: "5",
} as const;

function valuesOf(argv: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(argv);
  } catch (error) {
    throw new HarnessError(`${explain(error)} (--help lists the options)`);
  }
}

function parse(argv: readonly string[]) {
  const text = { type: "string" } as const;
  const options = {
    seed: text,
    rounds: text,
    unmounts: text,
    kills: text,
    "api-kills": text,
    absences: text,
    blackouts: text,
    keep: text,
    help: { type: "boolean" },
  } as const;
  return parseArgs({ args: [...argv], options }).values;
}
