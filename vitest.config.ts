import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

/** They wait for most of their time, and measure how soon something follows. */
const TIMED = ["crashes", "leadership", "leadership-lost"].map((name) => `test/integration/${name}.test.ts`);
/** It reads a clock that goes fifty times as fast: what takes the machine away for a moment takes a second of it away. */
const ALONE = ["test/integration/faults.test.ts"];

/** So many files at once: on two cores, most of them wait; with six, some that measure would. Each control plane wants a gigabyte. */
const WORKERS = 5;

/**
 * What takes so long hangs, also on a machine that does other things as well. How soon something has to happen is for the rows to say, of the
 * time that the machine gave (test/rig/process/starvation.ts).
 */
const HANGS_MS = 300_000;

const env = {
  // Every start of a program of Mooring's would compile it, which takes longer than all else that it does at its start.
  NODE_COMPILE_CACHE: new URL("node_modules/.cache/compiled", import.meta.url).pathname,
  // Control planes live for some minutes at most here: up to this size, what a collector of garbage would win back is not worth its time.
  GOGC: "off",
  GOMEMLIMIT: "700MiB",
  // Several of them share a few cores: threads that look for work in vain are a third of what etcd takes.
  GOMAXPROCS: "1",
};

export default defineConfig({
  test: {
    reporters: ["default", ["json", { outputFile: "test-results.json" }]],
    // The name of a row is a sentence: print all of it.
    taskTitleValueFormatTruncate: 0,
    sequence: { sequencer: LongestFirst },
    teardownTimeout: HANGS_MS,
    projects: [
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: [...TIMED, ...ALONE],
          globalSetup: "test/integration/global-setup.ts",
          env,
          testTimeout: HANGS_MS,
          hookTimeout: HANGS_MS,
          isolate: false,
          maxWorkers: WORKERS,
        },
      },
      // No module has state of its own, so files may share a process: a new one for each of them took 20 s instead of 8.
      // They run beside the files that wait and measure.
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "test/program/**/*.test.ts"],
          env,
          isolate: false,
          testTimeout: HANGS_MS,
          hookTimeout: HANGS_MS,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "integration-timed",
          include: TIMED,
          env,
          testTimeout: HANGS_MS,
          hookTimeout: HANGS_MS,
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "integration-alone",
          include: ALONE,
          env,
          testTimeout: HANGS_MS,
          hookTimeout: HANGS_MS,
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
          testTimeout: 3 * HANGS_MS,
          hookTimeout: 3 * HANGS_MS,
          // Each file has nodes of its own, and waits for most of its time.
          maxWorkers: 2,
        },
      },
      // The instruments' own tests: `npm run test:rig` alone runs these, after a change of an instrument and each night.
      {
        test: {
          name: "rig",
          include: [
            "test/rig/tests/unit/**/*.test.ts",
            "test/rig/tests/cluster/*.test.ts",
            "test/bench/tests/**/*.test.ts",
          ],
          globalSetup: "test/integration/global-setup.ts",
          env,
          testTimeout: HANGS_MS,
          hookTimeout: HANGS_MS,
          isolate: false,
          maxWorkers: WORKERS,
        },
      },
      // Those that need real nodes, as root: `npm run test:rig:node`.
      {
        test: {
          name: "rig-node",
          include: ["test/rig/tests/node/*.test.ts"],
          globalSetup: "test/e2e/global-setup.ts",
          testTimeout: 3 * HANGS_MS,
          hookTimeout: 3 * HANGS_MS,
          fileParallelism: false,
        },
      },
      // Real nodes for long: `npm run prove` alone runs these.
      {
        test: {
          name: "e2e-long",
          include: ["test/e2e/long/*.test.ts"],
          globalSetup: "test/e2e/global-setup.ts",
          testTimeout: 3 * HANGS_MS,
          hookTimeout: 3 * HANGS_MS,
          fileParallelism: false,
        },
      },
    ],
  },
});
