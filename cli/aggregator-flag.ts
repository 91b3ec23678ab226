import { InvalidArgumentError, Option } from "commander";
import type { AggregatorTarget } from "./aggregator.ts";

/** The default address of an aggregator on this machine, or of a port that is forwarded to one. */
const DEFAULT_AGGREGATOR = "http://127.0.0.1:9809";
export const AGGREGATOR_VARIABLE = "MOORING_AGGREGATOR";

export const NO_AGGREGATOR = `An aggregator is a URL like ${DEFAULT_AGGREGATOR}, without user and query, or "none".`;

export function aggregatorOption(): Option {
  return new Option(
    "--aggregator <url>",
    `aggregator to ask, or "none"; by default ${AGGREGATOR_VARIABLE}, then ${DEFAULT_AGGREGATOR} if it answers`,
  ).argParser(aggregatorOf);
}

function aggregatorOf(text: string): string {
  if (text !== "" && targetOf(text) === "invalid") throw new InvalidArgumentError(NO_AGGREGATOR);
  return text;
}

/** Undefined: ask no aggregator. */
export function targetOf(text: string | undefined): AggregatorTarget | undefined | "invalid" {
  if (!text) return { url: DEFAULT_AGGREGATOR, isExplicit: false };
  if (text === "none") return undefined;
  const url = URL.parse(text);
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && !(url.username || url.password || url.search || url.hash);
  return isPlain ? { url: url.href.replace(/\/$/, ""), isExplicit: true } : "invalid";
}
