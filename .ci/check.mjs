// Format, lint, types and unit tests, side by side; prints what failed and how long each took.
import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";

const tasks = [
  { name: "format and lint", command: ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."] },
  { name: "types", command: ["node_modules/typescript/bin/tsc"] },
  { name: "unit tests", command: ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "--reporter", "dot"] },
];

function run({ name, command }) {
  const begin = performance.now();
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.on("close", (code) => {
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      if (code !== 0) console.error(Buffer.concat(output).toString());
      console.error(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
      resolve(code === 0);
    });
  });
}

const results = await Promise.all(tasks.map(run));
process.exitCode = results.every(Boolean) ? 0 : 1;
