import { defineConfig } from "vitest/config";

/** They take all of the machine for long, measure how soon something follows, or read a clock that goes fifty times as fast. */
const ALONE = ["crashes", "faults", "leadership", "simulation"].map((name) => `test/integration/${name}.test.ts`);

export default defineConfig({
  test: {
    reporters: ["default", ["json", { outputFile: "test-results.json" }]],
    // The name of a row is a sentence: print all of it.
    taskTitleValueFormatTruncate: 0,
    projects: [
      // No module has state of its own, so files may share a process: a new one for each of them took 20 s instead of 8.
      // The default limit of 5 s is too short for properties on a machine that does other things as well.
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], isolate: false, testTimeout: 30_000 } },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: ALONE,
          globalSetup: "test/integration/global-setup.ts",
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Each control plane wants a core and a gigabyte; most of the time a file waits.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "integration-alone",
          include: ALONE,
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      // Real nodes, as root: `npm run test:e2e` alone runs these.
      {
        test: {
          name: "e2e",
          include: ["test/e2e/*.test.ts"],
          globalSetup: "test/e2e/global-setup.ts",
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      // The same for long: `npm run prove` alone runs these.
      {
        test: {
          name: "e2e-long",
          include: ["test/e2e/long/*.test.ts"],
          globalSetup: "test/e2e/global-setup.ts",
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
