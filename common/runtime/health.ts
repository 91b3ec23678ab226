/** Fine; the detail is for people who ask for more. */
export interface Passed {
  readonly ok: true;
  readonly detail?: string;
  /** It works, but does less than it is for: no reason to stop a rollout, and one to look. */
  readonly isDegraded?: true;
}

/** What a check says: fine, or why not. */
export type CheckResult = Passed | { readonly ok: false; readonly why: string };

/** Named checks, asked anew at each request. */
export type Checks = Readonly<Record<string, () => CheckResult>>;

/**
 * What a process is at: it has not been ready yet; it does all that it is for; it does less than that; it no longer does it; it was told to
 * stop and brings to an end what it has begun.
 */
export const PROCESS_STATES = ["starting", "ready", "degraded", "not-ready", "draining"] as const;
export type ProcessState = (typeof PROCESS_STATES)[number];

export const PASSED: Passed = { ok: true };

/** A failed check and its reason. */
export function failed(why: string): CheckResult {
  return { ok: false, why };
}

/** A check that passes although something is missing, and what. */
export function degraded(detail: string): CheckResult {
  return { ok: true, detail, isDegraded: true };
}

/** What a process is at, by the answers of its readiness checks. */
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
