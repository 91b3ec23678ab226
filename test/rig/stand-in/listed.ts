import * as v from "valibot";
import { HarnessError } from "../process/errors.ts";

const header = v.looseObject({
  apiVersion: v.string(),
  kind: v.string(),
  cluster: v.nullable(v.string()),
  nodes: v.record(v.string(), v.number()),
});
const entry = v.looseObject({ name: v.string() });
const end = v.strictObject({ complete: v.literal(true), entries: v.number() });

/** A list of the aggregator, as somebody reads it who knows no more than its page says. Throws a HarnessError for one that was cut. */
export function readList(text: string) {
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.length < 2) throw new HarnessError(`the list was cut: ${text.slice(-200)}`);
  const [first, ...rest] = lines.map((line): unknown => JSON.parse(line));
  const items = v.parse(v.array(entry), rest.slice(0, -1));
  const { entries } = v.parse(end, rest.at(-1));
  if (entries !== items.length) throw new HarnessError(`the list has ${items.length} of ${entries} entries`);
  return { ...v.parse(header, first), items };
}
