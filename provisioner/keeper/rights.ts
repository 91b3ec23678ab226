import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { MooringError } from "../../common/runtime/errors.ts";
import { capabilitiesIn, type Rights, whatIsMissing } from "./core/rights.ts";
import { systemCode } from "./system-error.ts";

/** Throws `MooringError` "config-invalid" with the missing rights, where this process cannot do a keeper's work. */
export async function demandRights(): Promise<void> {
  const missing = whatIsMissing(await readRights());
  if (missing.length === 0) return;
  const lines = missing.map((what) => `  ${what}`);
  throw new MooringError("config-invalid", ["The keeper cannot work here:", ...lines].join("\n"), { retriable: false });
}

async function readRights(): Promise<Rights> {
  const capabilities = capabilitiesIn(await readFile("/proc/self/status", "utf8"));
  return { user: process.geteuid?.() ?? -1, capabilities, loopControl: await loopProblem() };
}

async function loopProblem(): Promise<string | undefined> {
  try {
    await using _file = await open("/dev/loop-control", constants.O_RDWR);
    return undefined;
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    return code;
  }
}
