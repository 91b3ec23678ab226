import { describe, expect, it } from "vitest";
import { totalsOf } from "../../../.ci/totals.ts";

type Status = "passed" | "failed" | "skipped" | "pending" | "todo";

/** A test file as vitest's JSON shows it: failed if it says so or one of its tests did. */
function file(path: string, tests: readonly Status[], message?: string) {
  return fileFailedBy("AssertionError: expected 1 to be 2", path, { tests, message });
}

function fileFailedBy(
  why: string,
  path: string,
  { tests, message }: { readonly tests: readonly Status[]; readonly message?: string | undefined },
) {
  const status = message !== undefined || tests.includes("failed") ? "failed" : "passed";
  const assertionResults = tests.map((status, index) => ({
    fullName: `parser test ${index}`,
    status,
    failureMessages: status === "failed" ? [`${why}\n  at a.ts`] : [],
  }));
  return { name: `/checkout/test/${path}`, status, message: message ?? "", assertionResults };
}

const RANDOM =
  'Error: Property failed after 1 tests\n{ seed: 7, path: "0:1", endOnFailure: true }\nCounterexample: [50]\nShrunk 1 time(s)\n';

function reportOf(...testResults: readonly ReturnType<typeof file>[]): string {
  return JSON.stringify({ numTotalTests: 99, testResults });
}

const unit = file("unit/a.test.ts", ["passed", "passed"]);
const integration = file("integration/b.test.ts", ["passed"]);

interface Row {
  readonly name: string;
  readonly report: string | undefined;
  readonly exitCode: number;
  readonly lines: readonly string[];
}

const bad: readonly Row[] = [
  {
    name: "a failed test",
    report: reportOf(unit, file("integration/b.test.ts", ["passed", "failed"])),
    exitCode: 1,
    lines: [
      "unit: 2 passed, 0 failed",
      "integration: 1 passed, 1 failed",
      "test/integration/b.test.ts: FAILED: parser test 1: AssertionError: expected 1 to be 2",
      "3 passed, 1 failed",
    ],
  },
  {
    name: "a random counterexample",
    report: reportOf(fileFailedBy(RANDOM, "unit/a.test.ts", { tests: ["passed", "failed"] }), integration),
    exitCode: 1,
    lines: [
      "unit: 1 passed, 1 failed",
      "integration: 1 passed, 0 failed",
      "test/unit/a.test.ts: FAILED: parser test 1: Error: Property failed after 1 tests",
      '  { seed: 7, path: "0:1", endOnFailure: true }',
      "  Counterexample: [50]",
      "2 passed, 1 failed",
    ],
  },
  {
    name: "a failed test that the runner's exit code hides",
    report: reportOf(file("unit/a.test.ts", ["failed"]), integration),
    exitCode: 0,
    lines: [
      "unit: 0 passed, 1 failed",
      "integration: 1 passed, 0 failed",
      "test/unit/a.test.ts: FAILED: parser test 0: AssertionError: expected 1 to be 2",
      "1 passed, 1 failed",
    ],
  },
  {
    name: "a tier without a test",
    report: reportOf(unit),
    exitCode: 0,
    lines: [
      "unit: 2 passed, 0 failed",
      "integration: 0 passed, 0 failed",
      "integration: no test ran",
      "2 passed, 0 failed",
    ],
  },
  {
    name: "a tier whose tests are all skipped",
    report: reportOf(unit, file("integration/b.test.ts", ["skipped", "pending", "todo"])),
    exitCode: 0,
    lines: [
      "unit: 2 passed, 0 failed",
      "integration: 0 passed, 0 failed, 3 skipped",
      "integration: no test ran",
      "2 passed, 0 failed, 3 skipped",
    ],
  },
  {
    name: "a file that did not load",
    report: reportOf(
      unit,
      integration,
      file("unit/c.test.ts", [], "Cannot find module './missing.ts'\n  at c.test.ts"),
    ),
    exitCode: 1,
    lines: [
      "unit: 2 passed, 1 failed",
      "integration: 1 passed, 0 failed",
      "/checkout/test/unit/c.test.ts: Cannot find module './missing.ts'",
      "3 passed, 1 failed",
    ],
  },
  {
    name: "a file whose set-up failed, so that its tests count as skipped",
    report: reportOf(unit, integration, file("integration/d.test.ts", ["skipped"], "no control plane")),
    exitCode: 1,
    lines: [
      "unit: 2 passed, 0 failed",
      "integration: 1 passed, 1 failed, 1 skipped",
      "/checkout/test/integration/d.test.ts: no control plane",
      "3 passed, 1 failed, 1 skipped",
    ],
  },
  {
    name: "a runner that fails although no test did",
    report: reportOf(unit, integration),
    exitCode: 1,
    lines: [
      "unit: 2 passed, 0 failed",
      "integration: 1 passed, 0 failed",
      "unit, integration: exit code 1, though no test failed",
      "3 passed, 0 failed",
    ],
  },
  ...[
    { name: "a runner that left no report", report: undefined },
    { name: "a runner that was killed while it wrote its report", report: reportOf(unit, integration).slice(0, -9) },
    { name: "a report of another format", report: JSON.stringify({ tests: 3 }) },
    { name: "a report with an unknown status", report: reportOf(unit).replace('"passed"', '"retried"') },
  ].map(({ name, report }) => ({
    name,
    report,
    exitCode: 0,
    lines: [
      "unit: 0 passed, 0 failed",
      "integration: 0 passed, 0 failed",
      "unit, integration: no readable report (exit code 0)",
      "0 passed, 0 failed",
    ],
  })),
];

describe("totalsOf", () => {
  it.each(bad)("$name is not good", ({ report, exitCode, lines }) => {
    const totals = totalsOf([{ tiers: ["unit", "integration"], exitCode, report }], "/checkout");

    expect(totals).toEqual({ lines, isGood: false });
  });

  it("a test in every tier and no failure is good", () => {
    const totals = totalsOf(
      [{ tiers: ["unit", "integration"], exitCode: 0, report: reportOf(unit, integration) }],
      "/checkout",
    );

    expect(totals).toEqual({
      lines: ["unit: 2 passed, 0 failed", "integration: 1 passed, 0 failed", "3 passed, 0 failed"],
      isGood: true,
    });
  });

  it("a skipped test among others is good and is shown", () => {
    const report = reportOf(file("unit/a.test.ts", ["passed", "skipped"]));

    const { lines, isGood } = totalsOf([{ tiers: ["unit"], exitCode: 0, report }], "/checkout");

    expect(lines.at(-1)).toBe("1 passed, 0 failed, 1 skipped");
    expect(isGood).toBe(true);
  });

  it("the tier is the folder under the checkout's `test`, whatever other folders are called", () => {
    const root = "/home/test/integration/mooring";
    const report = reportOf({ ...unit, name: `${root}/test/unit/test/e2e/a.test.ts` });

    const { lines } = totalsOf([{ tiers: ["unit"], exitCode: 0, report }], root);

    expect(lines).toEqual(["unit: 2 passed, 0 failed", "2 passed, 0 failed"]);
  });

  it("several runs are added up, and one bad run is enough", () => {
    const totals = totalsOf(
      [
        { tiers: ["unit", "integration"], exitCode: 0, report: reportOf(unit, integration) },
        { tiers: ["e2e"], exitCode: 137, report: undefined },
      ],
      "/checkout",
    );

    expect(totals).toEqual({
      lines: [
        "unit: 2 passed, 0 failed",
        "integration: 1 passed, 0 failed",
        "e2e: 0 passed, 0 failed",
        "e2e: no readable report (exit code 137)",
        "3 passed, 0 failed",
      ],
      isGood: false,
    });
  });

  it("a tier that this machine cannot run is named with all that is missing, and is neither good nor bad", () => {
    const ran = { tiers: ["unit", "integration"], exitCode: 0, report: reportOf(unit, integration) };
    const missing = ["root: nodes are made of mounts", "overlayfs on /tmp: no such device"];

    const totals = totalsOf([ran, { tiers: ["e2e"], exitCode: 0, report: undefined, missing }], "/checkout");

    expect(totals).toEqual({
      lines: [
        "unit: 2 passed, 0 failed",
        "integration: 1 passed, 0 failed",
        "e2e: NOT RUN, for this machine lacks root: nodes are made of mounts",
        "e2e: NOT RUN, for this machine lacks overlayfs on /tmp: no such device",
        "3 passed, 0 failed",
      ],
      isGood: true,
    });
  });

  it("a tier that could run and ran nothing is not good", () => {
    const ran = { tiers: ["unit", "integration"], exitCode: 0, report: reportOf(unit, integration) };

    const totals = totalsOf([ran, { tiers: ["e2e"], exitCode: 0, report: reportOf(), missing: [] }], "/checkout");

    expect(totals.lines).toContain("e2e: no test ran");
    expect(totals.isGood).toBe(false);
  });

  it("tiers of which this machine can run none are not good", () => {
    const totals = totalsOf([{ tiers: ["e2e"], exitCode: 0, report: undefined, missing: ["root"] }], "/checkout");

    expect(totals).toEqual({
      lines: ["e2e: NOT RUN, for this machine lacks root", "0 passed, 0 failed"],
      isGood: false,
    });
  });

  it("no run at all is not good", () => {
    const totals = totalsOf([], "/checkout");

    expect(totals.isGood).toBe(false);
  });
});
