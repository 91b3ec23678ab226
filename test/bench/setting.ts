import { HarnessError } from "../rig/process/errors.ts";

/** The number in an environment variable. Throws a HarnessError unless it is a number from 0. */
export function numberSetting(name: string, fallback: number, env: NodeJS.ProcessEnv = process.env): number {
  const text = env[name]?.trim() ?? "";
  if (text === "") return fallback;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new HarnessError(`${name}: ${JSON.stringify(text)} is no number from 0 on`);
}
