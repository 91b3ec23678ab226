import type { StoreChange } from "../../common/kube/store.ts";
import { type CheckResult, degraded, failed } from "../../common/runtime/health.ts";
import { createInternalErrors } from "../../common/runtime/internal-errors.ts";
import type { ReportAnswer } from "../../common/storage/node-report.ts";
import { wrongNode } from "../core/affinity/limits.ts";
import type { NodePod } from "../sources/node-pods.ts";
import { Enforcer, type EnforcerOptions, type EnforcerParts } from "./enforcer.ts";

/** What an agent does about pods on the wrong node, in any mode. */
export interface Enforcement {
  readonly tasks: readonly ((signal: AbortSignal) => Promise<void>)[];
  readonly onPodChange: (change: StoreChange<NodePod>) => void;
  readonly onAnswer: (answer: ReportAnswer) => void;
  readonly check: () => CheckResult;
  /** The pods that cannot be decided because of a bug. */
  readonly internalErrors: () => CheckResult;
  /** Changes whenever a work item ends; undefined while none is under way. */
  readonly progress: () => number | undefined;
  /** For `/debug/verdicts`. */
  readonly describe: () => object;
}

/** What a bug ends alone: the work on one pod. */
const WORK = ["placement", "placement-news", "rejections", "removals"] as const;

/** With the mode `off` nothing is watched, read or kept. */
export function createEnforcement(parts: Omit<EnforcerParts, "internalErrors">, options: EnforcerOptions): Enforcement {
  const { mode } = options.config;
  const all = createInternalErrors(parts, WORK);
  const internalErrors = (): CheckResult => all.check();
  if (mode === "off") {
    return {
      tasks: [],
      onPodChange: () => {},
      onAnswer: () => {},
      check: () => ({ ok: true, detail: mode }),
      internalErrors,
      progress: () => undefined,
      describe: () => ({ mode, pods: [] }),
    };
  }
  const enforcer = new Enforcer({ ...parts, internalErrors: all }, options);
  const errors = all.in("placement-news");
  return {
    tasks: enforcer.tasks(),
    // A failure here must not stop the watch of pods, or the reports.
    onPodChange: (change) => errors.attempt(change.object.key, () => enforcer.onPodChange(change)),
    onAnswer: (answer) => errors.attempt("answer", () => enforcer.onAnswer(answer)),
    check: () => checkOf(enforcer, options),
    internalErrors,
    progress: () => enforcer.progress,
    describe: () => ({ mode, ...enforcer.state(), survey: enforcer.survey(), pods: enforcer.describe() }),
  };
}

function checkOf(enforcer: Enforcer, { config: { mode } }: EnforcerOptions): CheckResult {
  const { hasNode, forbidden, aside, fleetPause, off } = enforcer.state();
  if (!hasNode) return failed("the Node object has not been listed yet");
  if (forbidden.length > 0) return failed(`the agent's account may not read or change: ${forbidden.join(", ")}`);
  const wrong = mode === "enforce" ? wrongNode(enforcer.survey()) : undefined;
  if (wrong !== undefined) return failed(wrong);
  const facts = [
    mode,
    ...(off === undefined ? [] : [off]),
    ...(aside === undefined ? [] : [`stands aside: ${aside}`]),
    ...(fleetPause === undefined ? [] : [`the aggregator pauses all rejections: ${fleetPause}`]),
  ];
  return off === undefined ? { ok: true, detail: facts.join("; ") } : degraded(facts.join("; "));
}
