import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPage } from "../../pages/page.ts";
import { openReader } from "../../pages/reader.ts";
import { WRONG } from "../../pages/words.ts";
import { poolPath } from "../../rig/node/pool-disks.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { NodeName } from "../scenarios/stage.ts";
import type { ProvisionerStage } from "./stage.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
/** The Prometheus operator is not here. */
const NOT_HERE = /get podmonitors/;
const ON_THE_NODE = "# on the node";

/** What the names on a page stand for. */
export interface Meant {
  readonly node: NodeName;
  /** `default` unless told. */
  readonly pool?: string;
  readonly volume?: string;
}

/** Follows pages of the provisioner: commands below a comment `# on the node…` run there, others where a user has kubectl. */
export interface PageReader {
  /** Runs what a runbook says to look at; answers what it printed. Throws a HarnessError when a command is wrong. */
  readonly look: (runbook: string, meant: Meant) => Promise<string>;
  /** The runbooks that were looked at. */
  readonly looked: ReadonlySet<string>;
  /** Runs lines of shell of a page, and ends with the first that fails; throws a HarnessError then. */
  readonly follow: (script: string, meant: Meant) => Promise<string>;
}

/** Makes a reader of pages for a stage. */
export async function openPageReader(stage: ProvisionerStage): Promise<PageReader> {
  const { owner, cluster } = stage;
  const programs = { kubectl: `exec ${cluster.kubectl} "$@"` };
  const { kubeconfig } = cluster;
  const reader = await openReader({ folder: PROJECT, home: owner.folder, kubeconfig, programs });
  const looked = new Set<string>();
  return {
    looked,
    look: async (runbook, meant) => {
      const script = withNames(readPage(`runbooks/${runbook}.md`).blocks.join("\n"), meant);
      const seen: string[] = [];
      for (const { isOnNode, lines } of partsOf(script)) {
        const { stdout, stderr } = await (isOnNode ? lookOn(stage, meant.node, lines) : reader.look(lines));
        if (WRONG.test(stderr)) throw new HarnessError(`${runbook}: ${stderr}\n${stdout}\n${lines}`);
        seen.push(stdout);
      }
      looked.add(runbook);
      return seen.join("");
    },
    follow: async (script, meant) => {
      const seen: string[] = [];
      for (const { isOnNode, lines } of partsOf(withNames(script, meant)))
        seen.push(await (isOnNode ? stage.node(meant.node).run("bash", "-euc", lines) : reader.follow(lines)));
      return seen.join("");
    },
  };
}

function withNames(script: string, { node, pool = "default", volume = "" }: Meant): string {
  return script
    .replace(/\bNODE\b/g, node)
    .replaceAll(poolPath("default"), poolPath(pool))
    .replace(/\bpvc-UID\b/g, volume)
    .split("\n")
    .filter((line) => !NOT_HERE.test(line))
    .join("\n");
}

/** A script by where its lines are run: a comment says so for all lines until the next one. */
function partsOf(script: string): readonly { readonly isOnNode: boolean; readonly lines: string }[] {
  return script
    .split(/^(?=# )/m)
    .filter((lines) => lines.trim() !== "")
    .map((lines) => ({ isOnNode: lines.startsWith(ON_THE_NODE), lines }));
}

/** Runs all lines on a node, whatever becomes of each. */
async function lookOn(
  { owner, node }: ProvisionerStage,
  name: NodeName,
  lines: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const script = join(owner.folder, `look-on-${name}`);
  writeFileSync(script, lines);
  const stdout = await node(name).run("bash", "-c", `bash -u ${script} 2> ${script}.err || true`);
  return { stdout, stderr: readFileSync(`${script}.err`, "utf8") };
}
