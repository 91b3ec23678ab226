/** Fine; the detail is for people who ask for more. */
export interface Passed {
  readonly ok: true;
  readonly detail?: string;
}

/** What a check says: fine, or why not. */
export type CheckResult = Passed | { readonly ok: false; readonly why: string };

/** Named checks, asked anew at each request. */
export type Checks = Readonly<Record<string, () => CheckResult>>;

export const PASSED: Passed = { ok: true };

/** A failed check and its reason. */
export function failed(why: string): CheckResult {
  return { ok: false, why };
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

function detailOf({ detail }: Passed): string {
  return detail === undefined ? "" : `: ${detail}`;
}
