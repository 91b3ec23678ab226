import * as v from "valibot";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { listEnd } from "../../common/storage/list-lines.ts";
import type { Printer } from "../demo/print.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";

const LISTED_LIMIT_MS = 300_000;

/** The cost of a list of all claims in a large cluster for the aggregator, beside the same time without requests. */
export async function benchLists(owner: Owner, printer: Printer, { claims }: { readonly claims: number }) {
  printer.title(`\nAll of ${claims} claims and volumes at rest, listed over loopback; milliseconds`);
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const url = `http://127.0.0.1:${port}`;
  const script = new URL("listed-aggregator.ts", import.meta.url).pathname;
  const child = owner.child({
    ...{ name: "listed-aggregator", command: process.execPath },
    args: ["--max-old-space-size=4096", script, String(port), String(claims)],
  });
  await child.start();
  await atRest(owner, child, url);
  const rows: (readonly string[])[] = [];
  const measure = async (name: string, work: () => Promise<number>): Promise<void> => {
    await longestTurn(url);
    const beganAt = owner.clock.monotonicMs();
    const entries = await work();
    const tookMs = owner.clock.monotonicMs() - beganAt;
    const { wallMs, processorMs } = await longestTurn(url);
    rows.push([name, ...[entries, tookMs, wallMs, processorMs].map((figure) => figure.toFixed(0))]);
  };
  await measure("claims", () => entriesOf(`${url}/v1/claims`));
  await measure("claims again", () => entriesOf(`${url}/v1/claims`));
  await measure("claims, two at once", async () => {
    const both = await Promise.all([entriesOf(`${url}/v1/claims`), entriesOf(`${url}/v1/claims`)]);
    return both.reduce((sum, entries) => sum + entries, 0);
  });
  await measure("volumes", () => entriesOf(`${url}/v1/volumes`));
  await measure("baseline: 10 s without requests", async () => {
    await owner.clock.sleep(10_000);
    return 0;
  });
  printer.table([["WHAT", "ENTRIES", "TOOK", "LONGEST TURN", "OF THE PROCESSOR"], ...rows]);
}

/** Every claim was decided once, and no write is pending. */
async function atRest(owner: Owner, child: OwnedChild, url: string): Promise<void> {
  let quiet = 0;
  const check = async (): Promise<void> => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const depths = [...metrics.matchAll(/^workqueue_depth\{[^}]*\} (\d+)/gm)].map(([, depth]) => Number(depth));
    quiet = depths.length > 0 && depths.every((depth) => depth === 0) ? quiet + 1 : 0;
    if (quiet < 20) throw new HarnessError(`queues: ${depths.join(", ")}`);
  };
  await waitUntil(owner, { what: "an aggregator at rest", limitMs: LISTED_LIMIT_MS, child, check });
}

const Turn = v.object({ wallMs: v.number(), processorMs: v.number() });

async function longestTurn(url: string): Promise<v.InferOutput<typeof Turn>> {
  return v.parse(Turn, await (await fetch(`${url}/longest-turn`)).json());
}

/** The number of entries of the whole list, read as it arrives. */
async function entriesOf(url: string): Promise<number> {
  const { body } = await fetch(url);
  let [lines, last] = [0, ""];
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    const [...parts] = decoder.decode(chunk, { stream: true }).split("\n");
    lines += parts.length - 1;
    last = `${last}${parts.join("\n")}`.slice(-200);
  }
  const { entries } = v.parse(listEnd, JSON.parse(last.trimEnd().split("\n").at(-1) ?? ""));
  // The first line and the last are no entries.
  if (entries !== lines - 2) throw new HarnessError(`${url} has ${lines} lines and says ${entries} entries`);
  return entries;
}
