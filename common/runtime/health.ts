/** What a check says: fine, or why not. */
export type CheckResult = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** Named checks, asked anew at each request. */
export type Checks = Readonly<Record<string, () => CheckResult>>;

export const PASSED: CheckResult = { ok: true };

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
    result.ok ? `[+]${check} ok` : `[-]${check} failed: ${result.why}`,
  );
  const summary = `${name} check ${ok ? "passed" : "failed"}`;
  if (ok && !verbose) return { status: 200, body: "ok" };
  return { status: ok ? 200 : 503, body: `${[...lines, summary].join("\n")}\n` };
}
