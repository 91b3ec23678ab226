import { defineConfig } from "vitest/config";

/** The tests that the part of the run names: see parts.ts. */
export default defineConfig({
  test: {
    include: process.env.MOORING_MUTATION_TESTS?.split(" ") ?? [],
    isolate: false,
    testTimeout: 30_000,
  },
});
