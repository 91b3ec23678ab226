import { fileURLToPath } from "node:url";

/** One of Mooring's programs that run in pods. */
export type MooringProgram = "agent" | "aggregator";

/** What else tests start often: the lists, and the CSI driver for tests. */
type Program = MooringProgram | "claims" | "volumes" | "local" | "csi-driver";

/** The file that each begins with, below the project's folder. */
export const SOURCES = {
  agent: "agent/main.ts",
  aggregator: "aggregator/main.ts",
  claims: "cli/claims.ts",
  volumes: "cli/volumes.ts",
  local: "cli/local.ts",
  "csi-driver": "test/rig/csi/main.ts",
} as const satisfies Readonly<Record<Program, string>>;

/**
 * The variable that names the folder of a bundle as it is in the image. Where it is set, programs are run from there: they start in half the
 * time.
 */
export const BUNDLE = "MOORING_BUNDLE";

/** The file that Node.js is told to run for a program. */
export function fileOf(program: Program): string {
  const { [BUNDLE]: bundle } = process.env;
  return bundle === undefined
    ? fileURLToPath(new URL(`../../../${SOURCES[program]}`, import.meta.url))
    : `${bundle}/${program}.mjs`;
}
