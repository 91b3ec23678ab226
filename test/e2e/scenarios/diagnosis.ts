import { explain } from "../../rig/process/errors.ts";
import { kubectl } from "../kubectl.ts";
import { volumeOf } from "./claims.ts";
import type { Stage } from "./stage.ts";

/** The last lines of each pod's log: some minutes, for both are silent while nothing happens. */
const LOG = ["logs", "--prefix", "--tail=80"] as const;
/** The leader answers here. */
const LEADER = "/api/v1/namespaces/mooring/services/mooring-aggregator:health/proxy";

/** Questions to kubectl whose answers tell why something was not said of a claim. */
function questionsOf(claim: string): readonly (readonly string[])[] {
  return [
    ["get", "pvc", claim, "--output=yaml"],
    ["get", "pv", volumeOf(claim), "--output=yaml"],
    ["get", "pods,nodes", "--all-namespaces", "--output=wide"],
    ["get", "leases", "--all-namespaces", "--output=yaml"],
    ["get", "--raw", `${LEADER}/readyz?verbose`],
    ["get", "--raw", `${LEADER}/metrics`],
    [...LOG, "--namespace=mooring", "--selector=app.kubernetes.io/name=mooring-aggregator"],
    [...LOG, "--namespace=mooring-agents", "--selector=app.kubernetes.io/name=mooring-agent"],
  ];
}

/** All that a cluster still knows of why a claim's status is not what it should be, for people. What cannot be had says why. */
export async function diagnose({ cluster }: Stage, claim: string): Promise<string> {
  const answers = questionsOf(claim).map(async (args) => {
    const answer = await kubectl(cluster, ...args).catch(explain);
    return `$ kubectl ${args.join(" ")}\n${withoutMetricNoise(answer)}\n`;
  });
  return (await Promise.all(answers)).join("\n");
}

/** Values tell enough of metrics. */
function withoutMetricNoise(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^# (HELP|TYPE) |_bucket\{/.test(line) && line !== "")
    .join("\n");
}
