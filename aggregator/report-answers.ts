import type { ErrorRecorder } from "../common/runtime/internal-errors.ts";
import type { AwaitedWords } from "./awaited-words.ts";
import type { ClaimMemories } from "./claim-memories.ts";
import type { NodeView } from "./core/node-view.ts";
import { versionToReach } from "./core/references.ts";
import type { HomelessReleases } from "./homeless-releases.ts";

interface AnswersParts {
  readonly errors: ErrorRecorder;
  readonly memories: ClaimMemories;
  readonly awaited: AwaitedWords;
  readonly homeless: HomelessReleases;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** What a node's report is answered. */
export class ReportAnswers {
  readonly #parts: AnswersParts;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
  }

  /** The resource version that the node's pod watch must have reached for its word to count on every pod that ended there. */
  awaitedVersion(view: NodeView): string | undefined {
    const { awaited, memories } = this.#parts;
    const pending = awaited.waitingFor(view.node).flatMap((key) => memories.known(key)?.history.pending ?? []);
    return versionToReach(pending, view);
  }

  /** IDs of the view's releases that can no longer change any status. */
  settled(view: NodeView): readonly string[] {
    const { errors, homeless, memories, nowMs } = this.#parts;
    const fateOf = memories.fateIn(view, nowMs());
    // A bug in what one claim's evidence makes of a release keeps that release in its journal, and no other.
    const fates = [...view.releases.values()].map((release) => ({
      release,
      fate: errors.attempt(release.id, () => fateOf(release)) ?? "open",
    }));
    const settled = fates.filter(({ fate }) => fate === "settled").map(({ release }) => release);
    const lost = fates.filter(({ fate }) => fate === "homeless").map(({ release }) => release);
    const over = [...settled, ...homeless.over(view.node, lost)];
    for (const release of over) memories.noteReleased(release);
    return over.map(({ id }) => id);
  }
}
