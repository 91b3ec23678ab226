import { describe, expect, it } from "vitest";
import { lintAll } from "./linted.ts";

interface Row {
  readonly name: string;
  readonly file: string;
  readonly code: string;
  readonly broken: readonly string[];
}

const clockRule = "Time comes from the injected clock (common/runtime/clock.ts).";
const clockModuleRule = `${clockRule.slice(0, -1)}; \`process\` is a global.`;
const randomRule = "Randomness comes from the injected port (common/runtime/random.ts).";
const fakesRule = "Hand the unit a fake from test/fakes instead of patching modules or timers.";
const snapshotRule = "Write the expected value in the test instead of a snapshot.";

/** Each way to a clock, a timer or a random number, and the rule that closes it. */
const ways = [
  { code: "export const a = Date.now();", rule: "noRestrictedGlobals" },
  { code: "export const b = new Date();", rule: "noRestrictedGlobals" },
  { code: "export type C = Date;", rule: "noRestrictedGlobals" },
  { code: "export const d = setTimeout(() => {}, 1);", rule: "noRestrictedGlobals" },
  { code: "export const e = setInterval(() => {}, 1);", rule: "noRestrictedGlobals" },
  { code: "export const f = setImmediate(() => {});", rule: "noRestrictedGlobals" },
  { code: "export const g = performance.now();", rule: "noRestrictedGlobals" },
  { code: "export const h = Temporal.Now.instant();", rule: "noRestrictedGlobals" },
  { code: "export const i = globalThis.Date.now();", rule: "noRestrictedGlobals" },
  { code: "export const j = globalThis.setTimeout(() => {}, 1);", rule: "noRestrictedGlobals" },
  { code: "export const k = globalThis['performance'].now();", rule: "noRestrictedGlobals" },
  { code: "export const l = global.Date.now();", rule: "noRestrictedGlobals" },
  { code: "export const { Date: m } = globalThis;", rule: "noRestrictedGlobals" },
  { code: "export const n = process.hrtime.bigint();", rule: clockRule },
  { code: "export const o = process.hrtime();", rule: clockRule },
  { code: "export const p = process['hrtime']();", rule: clockRule },
  { code: "export const { hrtime: q } = process;", rule: clockRule },
  { code: "export const r = process.uptime();", rule: clockRule },
  { code: "export const s = process.getBuiltinModule('node:timers');", rule: clockRule },
  { code: "export const t = AbortSignal.timeout(1);", rule: clockRule },
  { code: 'import { setTimeout as u } from "node:timers";', rule: clockModuleRule },
  { code: 'import { setTimeout as v } from "node:timers/promises";', rule: clockModuleRule },
  { code: 'import { performance as w } from "node:perf_hooks";', rule: clockModuleRule },
  { code: 'import { hrtime as x } from "node:process";', rule: clockModuleRule },
  { code: 'import { setTimeout as y } from "timers/promises";', rule: clockModuleRule },
  { code: 'export { setTimeout } from "node:timers/promises";', rule: clockModuleRule },
  { code: 'export const z = await import("node:timers/promises");', rule: clockModuleRule },
  { code: "export const aa = Math.random();", rule: randomRule },
  { code: "export const bb = randomUUID();", rule: randomRule },
  { code: "export const cc = crypto.randomUUID();", rule: randomRule },
  { code: "export const dd = randomBytes(8);", rule: randomRule },
  { code: "export const ee = nodeCrypto.randomBytes(8);", rule: randomRule },
  { code: "export const ff = webCrypto.getRandomValues(new Uint8Array(8));", rule: randomRule },
] as const;

const timedPlaces = [
  "common/storage/x.ts",
  "common/kube/x.ts",
  "common/runtime/x.ts",
  ...["agent", "aggregator"].flatMap((wing) => [
    `${wing}/core/x.ts`,
    `${wing}/sources/x.ts`,
    `${wing}/sinks/x.ts`,
    `${wing}/${wing}.ts`,
    `${wing}/main.ts`,
  ]),
  "cli/x.ts",
  "test/unit/agent/x.test.ts",
];

const timeRows: readonly Row[] = timedPlaces.flatMap((file) =>
  ways.map(({ code, rule }) => ({ name: `${file} may not use \`${code}\``, file, code, broken: [rule] })),
);

/** The files that turn times into text and back may still not ask what time it is. */
const timestampRows: readonly Row[] = [
  "common/storage/timestamp.ts",
  "common/runtime/http-date.ts",
  "common/runtime/micro-time.ts",
].flatMap((file) =>
  ["Date.now()", "new Date()", "Date()"].map((expression, n) => ({
    name: `${file} may not use \`${expression}\``,
    file,
    code: `export const a${n} = ${expression};`,
    broken: [clockRule],
  })),
);

const worldRows: readonly Row[] = ["common/storage/y.ts", "agent/core/y.ts", "aggregator/core/y.ts"].flatMap((file) =>
  ["process.env", "process.platform", "console.log(1)", 'fetch("http://other")', "crypto.subtle"].map((expression) => ({
    name: `${file} may not touch the world by ${expression}`,
    file,
    code: `export const a${expression.length} = ${expression};`,
    broken: ["noRestrictedGlobals"],
  })),
);

const lines = (count: number, line: string): string => Array.from({ length: count }, () => line).join("\n");
const functionOf = (body: number): string =>
  `export function long(total: number): number {\n${lines(body - 1, "  console.log(total);")}\n  return total;\n}`;
const fileOf = (count: number): string =>
  Array.from({ length: count }, (_, index) => `export const line${index} = ${index};`).join("\n");

const shapeRows: readonly Row[] = [
  {
    name: "a function body of 41 lines is too long",
    file: "agent/sources/function-41.ts",
    code: functionOf(41),
    broken: ["noExcessiveLinesPerFunction"],
  },
  {
    name: "a function body of 40 lines is not",
    file: "agent/sources/function-40.ts",
    code: functionOf(40),
    broken: [],
  },
  {
    name: "a file of 251 lines is too long",
    file: "agent/sources/file-251.ts",
    code: fileOf(251),
    broken: ["noExcessiveLinesPerFile"],
  },
  { name: "a file of 250 lines is not", file: "agent/sources/file-250.ts", code: fileOf(250), broken: [] },
  { name: "a long test file is not", file: "test/unit/file-251.test.ts", code: fileOf(251), broken: [] },
  { name: "a long test function is not", file: "test/unit/function-41.test.ts", code: functionOf(41), broken: [] },
  {
    name: "four parameters are too many",
    file: "agent/sources/four.ts",
    code: "export function four(a: number, b: number, c: number, d: number): number {\n  return a + b + c + d;\n}",
    broken: ["useMaxParams"],
  },
  {
    name: "three parameters are not",
    file: "agent/sources/three.ts",
    code: "export function three(a: number, b: number, c: number): number {\n  return a + b + c;\n}",
    broken: [],
  },
];

const typeRows: readonly Row[] = [
  { name: "any is refused", file: "cli/any.ts", code: "export const a: any = 1;", broken: ["noExplicitAny"] },
  {
    name: "a type assertion is refused",
    file: "cli/assertion.ts",
    code: "export function f(value: unknown): string {\n  return value as string;\n}",
    broken: ["noUnsafeTypeAssertion"],
  },
  {
    name: "a type assertion in angle brackets is refused",
    file: "cli/brackets.ts",
    code: "export function f(value: unknown): string {\n  return <string>value;\n}",
    broken: ["noUnsafeTypeAssertion"],
  },
  { name: "as const is allowed", file: "cli/as-const.ts", code: "export const a = [1] as const;", broken: [] },
  {
    name: "satisfies is allowed",
    file: "cli/satisfies.ts",
    code: "export const a = { b: 1 } satisfies { readonly b: number };",
    broken: [],
  },
  {
    name: "a non-null assertion is refused",
    file: "cli/non-null.ts",
    code: "export function f(value: string | undefined): number {\n  return value!.length;\n}",
    broken: ["noNonNullAssertion"],
  },
  { name: "an enum is refused", file: "cli/enum.ts", code: "export enum E {\n  A = 1,\n}", broken: ["noEnum"] },
  {
    name: "a parameter property is refused",
    file: "cli/property.ts",
    code: "export class C {\n  constructor(readonly a: number) {}\n}",
    broken: ["noParameterProperties"],
  },
  {
    name: "a private member that is never written is readonly",
    file: "cli/member.ts",
    code: "export class C {\n  private a = 1;\n  b(): number {\n    return this.a;\n  }\n}",
    broken: ["useReadonlyClassProperties"],
  },
  {
    name: "a switch that forgets a case is refused",
    file: "cli/switch.ts",
    code: 'export function f(a: "x" | "y"): number {\n  switch (a) {\n    case "x":\n      return 1;\n  }\n  return 2;\n}',
    broken: ["useExhaustiveSwitchCases"],
  },
];

const nestedRows: readonly Row[] = [
  {
    name: "a ternary in a ternary is refused",
    file: "cli/ternary.ts",
    code: "export function f(a: number): number {\n  return a > 1 ? (a > 2 ? 3 : 2) : 1;\n}",
    broken: ["noNestedTernary"],
  },
  {
    name: "a function that nests six conditions is refused",
    file: "cli/nested.ts",
    code: `export function f(a: number): number {\n${lines(6, "  if (a > 1) {")}\n  return 1;\n${lines(6, "  }")}\n  return 2;\n}`,
    broken: ["noExcessiveCognitiveComplexity"],
  },
];

const promiseRows: readonly Row[] = [
  {
    name: "a floating promise is refused",
    file: "cli/floating.ts",
    code: "async function f(): Promise<number> {\n  return await Promise.resolve(1);\n}\nexport function g(): void {\n  f();\n}",
    broken: ["noFloatingPromises"],
  },
  {
    name: "an awaited promise is allowed",
    file: "cli/awaited.ts",
    code: "async function f(): Promise<number> {\n  return await Promise.resolve(1);\n}\nexport async function g(): Promise<void> {\n  await f();\n}",
    broken: [],
  },
  {
    name: "a promise as a condition is refused",
    file: "cli/condition.ts",
    code: "async function f(): Promise<boolean> {\n  return await Promise.resolve(true);\n}\nexport function g(): number {\n  if (f()) return 1;\n  return 2;\n}",
    broken: ["noMisusedPromises"],
  },
];

const moduleRows: readonly Row[] = [
  {
    name: "a default export is refused",
    file: "cli/default.ts",
    code: "export default function f(): void {}",
    broken: ["noDefaultExport"],
  },
  {
    name: "a circle of imports is refused",
    file: "cli/circle.ts",
    code: 'import { b } from "./circle-back.ts";\nexport const a = (): number => b();',
    broken: ["noImportCycles"],
  },
  {
    name: "a circle of imports is refused at its other file too",
    file: "cli/circle-back.ts",
    code: 'import { a } from "./circle.ts";\nexport const b = (): number => a();',
    broken: ["noImportCycles"],
  },
  {
    name: "the default export that vitest asks of a global set-up is allowed",
    file: "test/integration/global-setup.ts",
    code: "export default function setUp(): void {}",
    broken: [],
  },
  {
    name: "a barrel file is refused",
    file: "cli/barrel.ts",
    code: 'export { a } from "./a.ts";',
    broken: ["noBarrelFile"],
  },
  { name: "export * is refused", file: "cli/all.ts", code: 'export * from "./a.ts";', broken: ["noReExportAll"] },
  {
    name: "a file name in camel case is refused",
    file: "cli/camelCase.ts",
    code: "",
    broken: ["useFilenamingConvention"],
  },
];

const testRows: readonly Row[] = [
  { name: "a focused test", code: 'it.only("a", () => {});', broken: ["noFocusedTests"] },
  { name: "a skipped test", code: 'it.skip("b", () => {});', broken: ["noSkippedTests"] },
  { name: "a skipped group", code: 'describe.skip("c", () => {});', broken: ["noSkippedTests"] },
  { name: "a patched module", code: 'vi.mock("./a.ts");', broken: [fakesRule] },
  { name: "a module patched later", code: 'vi.doMock("./a.ts");', broken: [fakesRule] },
  { name: "a patched timer", code: "vi.useFakeTimers();", broken: [fakesRule] },
  { name: "a snapshot", code: "expect(1).toMatchSnapshot();", broken: [snapshotRule] },
  { name: "a snapshot in a file", code: 'expect(1).toMatchFileSnapshot("a.txt");', broken: [snapshotRule] },
  { name: "a snapshot in place", code: "expect(1).toMatchInlineSnapshot(`1`);", broken: [snapshotRule] },
].map(({ name, code, broken }) => ({ name: `${name} is refused`, file: "test/unit/other.test.ts", code, broken }));

const allowedRows: readonly Row[] = [
  { file: "common/runtime/clock.ts", code: 'import { setTimeout as a } from "node:timers/promises";' },
  { file: "common/runtime/garbage-collection.ts", code: 'import { PerformanceObserver as a } from "node:perf_hooks";' },
  { file: "common/runtime/clock.ts", code: "export const b = Date.now() + Number(process.hrtime.bigint());" },
  { file: "common/runtime/random.ts", code: "export const c = Math.random();" },
  { file: "common/storage/timestamp.ts", code: "export const d = new Date(0).toISOString();" },
  { file: "common/runtime/http-date.ts", code: 'export const h = Date.parse("Thu, 01 Jan 1970 00:00:00 GMT");' },
  { file: "agent/main.ts", code: "export const e = process.env;" },
  { file: "agent/core/z.ts", code: "export const f = (clock: { now: () => number }): number => clock.now();" },
  { file: "agent/core/z.ts", code: 'export const g = { Date: 1, process: 2, "setTimeout": 3 }.process;' },
].map(({ file, code }) => ({ name: `${file} may use \`${code}\``, file, code, broken: [] }));

const allRows = [
  ...timeRows,
  ...timestampRows,
  ...worldRows,
  ...shapeRows,
  ...typeRows,
  ...nestedRows,
  ...promiseRows,
  ...moduleRows,
  ...testRows,
];
const linted = lintAll([...allRows, ...allowedRows]);

describe("code rules", () => {
  it.each(allRows.map((row, index) => ({ ...row, found: linted[index] })))("$name", ({ broken, found }) => {
    expect(found).toEqual(broken.length === 0 ? [] : expect.arrayContaining([...broken]));
  });

  it.each(allowedRows.map((row, index) => ({ ...row, found: linted[allRows.length + index] })))(
    "$name",
    ({ found = [] }) => {
      const rulesOfPorts = [clockRule, clockModuleRule, randomRule, "noRestrictedGlobals", "noRestrictedImports"];

      expect(found.filter((rule) => rulesOfPorts.includes(rule))).toEqual([]);
    },
  );
});
