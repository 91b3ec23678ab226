// Format, lint, types and unit tests, side by side; prints what failed and how long each took.
import { performance } from "node:perf_hooks";
import { run } from "./command.mjs";

const tasks = [
  { name: "format and lint", script: ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."] },
  { name: "types", script: ["node_modules/typescript/bin/tsc"] },
  {
    name: "unit tests",
    script: ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "--reporter", "minimal"],
  },
];

async function check({ name, script }) {
  const begin = performance.now();
  const output = [];
  const code = await run({
    command: [process.execPath, ...script],
    options: { stdio: ["ignore", "pipe", "pipe"] },
    onStart: ({ stdout, stderr }) => {
      for (const stream of [stdout, stderr]) stream.on("data", (chunk) => output.push(chunk));
    },
  });
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  if (code !== 0) console.error(Buffer.concat(output).toString());
  console.error(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  return code === 0;
}

const results = await Promise.all(tasks.map(check));
process.exitCode = results.every(Boolean) ? 0 : 1;
