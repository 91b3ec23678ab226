import { planOf } from "./plan/generate.ts";
import { runPlan } from "./run.ts";

const [first = "1", count = "1", isVerbose] = process.argv.slice(2);
const tell = isVerbose === undefined ? undefined : (line: string): void => console.log(line);
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  const { failure, virtualMs, events, writes, uses } = await runPlan(planOf(seed), { tell });
  const what =
    failure && `${failure.promise} after step ${failure.step} at ${Math.round(failure.atMs)}: ${failure.detail}`;
  console.log(
    seed,
    what ?? "ok",
    `${Math.round(virtualMs / 1000)} s, ${events} events, ${writes} writes, ${uses} uses`,
  );
}
