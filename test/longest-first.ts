import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take 20 s and more, the longest first, as measured on two cores: begun last, one of them would keep all others of its group waiting. Vitest
 * remembers how long files took, but not in a fresh clone, and it would begin the largest ones.
 */
const LONGEST = [
  "affinity",
  "informer",
  "leadership-lost",
  "crashes",
  "demo",
  "read-api",
  "install-page",
  "control-plane",
  "reports",
  "unmount-to-status",
  "leadership",
  "agent-mounts",
  "claim-writes",
  "rendered-manifests",
  "csi-driver",
  "simulation",
  "journal",
  "claims-cli",
  "phases",
  "hostile-values",
  "rotation",
  "write-overload",
  "attacks/probe",
  "attacks/rules",
  "lent",
  "attacks/attacks",
  "node-standing",
].map((name) => `test/integration/${name}.test.ts`);

/** Begins the files of each group that take long before the others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => this.#rankOf(one) - this.#rankOf(other));
  }

  #rankOf({ moduleId }: TestSpecification): number {
    const rank = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
    return rank === -1 ? LONGEST.length : rank;
  }
}
