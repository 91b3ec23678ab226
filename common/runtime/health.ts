/** The check passes; the detail is for verbose output. */
export interface Passed {
  readonly ok: true;
  readonly detail?: string;
  /** Degraded: it works, but does less than it should. That does not stop a rollout; an administrator should look. */
  readonly isDegraded?: true;
}

/** The result of a check: it passes, or why not. */
export type CheckResult = Passed | { readonly ok: false; readonly why: string };

/** Named checks, evaluated at each request. */
export type Checks = Readonly<Record<string, () => CheckResult>>;

/**
 * The state of a process: starting (never ready yet), fully working, degraded, no longer working, or stopping (finishing what it has
 * begun).
 */
export const PROCESS_STATES = ["starting", "ready", "degraded", "not-ready", "draining"] as const;
export type ProcessState = (typeof PROCESS_STATES)[number];

export const PASSED: Passed = { ok: true };

/** A failed check and its reason. */
export function failed(why: string): CheckResult {
  return { ok: false, why };
}

/** A check that passes although something is missing, and what that is. */
export function degraded(detail: string): CheckResult {
  return { ok: true, detail, isDegraded: true };
}

/** The state of a process, derived from its readiness checks. */
export function stateOf(
  results: readonly CheckResult[],
  { isDraining, wasReady }: { readonly isDraining: boolean; readonly wasReady: boolean },
): ProcessState {
  if (isDraining) return "draining";
  if (results.some(({ ok }) => !ok)) return wasReady ? "not-ready" : "starting";
  return results.some((result) => result.ok && result.isDegraded) ? "degraded" : "ready";
}

/** The answer of a health endpoint in the form that Kubernetes' own components use. */
export function renderHealth(
  name: string,
  checks: Checks,
  verbose: boolean,
): { readonly status: number; readonly body: string } {
  const results = Object.entries(checks).map(([check, ask]) => ({ check, result: ask() }));
  const ok = results.every(({ result }) => result.ok);
  const lines = results.map(({ check, result }) =>
    result.ok ? `[+]${check} ok${detailOf(result)}` : `[-]${check} failed: ${result.why}`,
  );
  const summary = `${name} check ${ok ? "passed" : "failed"}`;
  if (ok && !verbose) return { status: 200, body: "ok" };
  return { status: ok ? 200 : 503, body: `${[...lines, summary].join("\n")}\n` };
}

function detailOf({ detail, isDegraded }: Passed): string {
  const word = isDegraded === true ? " (degraded)" : "";
  return detail === undefined ? word : `${word}: ${detail}`;
}
