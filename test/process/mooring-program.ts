import { fileURLToPath } from "node:url";

/** One of Mooring's programs that run in pods. */
export type MooringProgram = "agent" | "aggregator";

/**
 * The variable that names the folder of a bundle as it is in the image. Where it is set, Mooring's programs are run from there: they start in
 * half the time.
 */
export const BUNDLE = "MOORING_BUNDLE";

/** The file that Node.js is told to run for a program. */
export function fileOf(program: MooringProgram): string {
  const { [BUNDLE]: bundle } = process.env;
  return bundle === undefined
    ? fileURLToPath(new URL(`../../${program}/main.ts`, import.meta.url))
    : `${bundle}/${program}.mjs`;
}
