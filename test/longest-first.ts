import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take 20 s and more, the longest first, as measured on two cores: begun last, one of them would keep all others of its group waiting. Vitest
 * remembers how long files took, but not in a fresh clone, and it would begin the largest ones.
 */
const LONGEST = [
  "affinity",
  "provisioner",
  "provisioner-faults",
  "protection-signals",
  "protection-tools",
  "protection-away",
  "protection-nodes",
  "leadership-lost",
  "attacks/absent-claims",
  "informer",
  "install-page",
  "unmount-to-status",
  "demo",
  "read-api",
  "protection-forged",
  "reports",
  "crashes",
  "local-uninstall",
  "kept-plans",
  "rendered-manifests",
  "attacks/rules",
  "leadership",
  "write-overload",
  "protection",
  "hostile-values",
  "chart",
  "claims-cli",
  "protection-workloads",
  "rotation",
  "claim-writes",
  "journal",
  "uninstall",
  "mount-storm",
  "agent-mounts",
  "phases",
  "volume-protection",
  "bundle",
  "protection-mounts",
  "attacks/attacks",
  "simulation",
  "attacks/probe",
].map((name) => `test/integration/${name}.test.ts`);

/** The same on real nodes. What gives loop devices other numbers runs one file after the other, beside the first. */
const LONGEST_ON_NODES = [
  "failures",
  "provisioner",
  "keeper-crashes",
  "keeper",
  "provisioner-keeper",
  "unwatched",
  "affinity",
  "protection",
  "demo",
  "pages",
  "scenarios",
  "helm",
  "rollout",
].map((name) => `test/e2e/${name}.test.ts`);

const ORDER = [...LONGEST, ...LONGEST_ON_NODES];

/** Begins the files of each group that take long before the others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => this.#rankOf(one) - this.#rankOf(other));
  }

  #rankOf({ moduleId }: TestSpecification): number {
    const rank = ORDER.indexOf(relative(this.ctx.config.root, moduleId));
    return rank === -1 ? ORDER.length : rank;
  }
}
