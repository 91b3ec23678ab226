import { object, parse, record, string } from "valibot";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { kubectl } from "./kubectl.ts";
import { agentOn, type MooringPod, metricsOf, valueIn } from "./scenarios/failures/mooring.ts";
import { NODES, type NodeName, type Stage } from "./scenarios/stage.ts";

const SAMPLE_MS = 500;
const configMap = object({ data: record(string(), string()) });

/** Tries to send a report, by what came of them. */
export interface Tries {
  readonly accepted: number;
  readonly failed: number;
}

/** What became of reports while something went on. */
export interface Delivery {
  /** Tries that failed, of all agents that were there. */
  readonly failed: number;
  /** The longest time without an accepted report on any node, milliseconds. */
  readonly longestMs: number;
}

/** What JavaScript prints in each agent, in the order of their nodes. Throws a HarnessError where it ends with an error. */
export async function fromAgents(stage: Stage, code: string): Promise<readonly string[]> {
  const agents = await Promise.all(NODES.map((node) => agentOn(stage, node)));
  const inside = ["--namespace=mooring-agents", "--container=agent", "--", "node", "--eval", code];
  return await Promise.all(
    agents.map(async ({ name }) => (await kubectl(stage.cluster, "exec", name, ...inside)).trim()),
  );
}

/** What the aggregators publish for agents to trust, PEM; nothing where they do not. */
async function published({ cluster }: Stage): Promise<string> {
  const what = ["configmap", CERTIFICATES_NAME, "--namespace=mooring-agents", "--ignore-not-found"];
  const text = await kubectl(cluster, "get", ...what, "--output=json");
  return text === "" ? "" : Object.values(parse(configMap, JSON.parse(text)).data).join("");
}

/** The fingerprint of the certificate that each agent is served by a new connection, which it trusts by its file or by what is published. */
export async function servedToAgents(
  stage: Stage,
  host = "mooring-aggregator.mooring.svc",
): Promise<readonly string[]> {
  const code = `const file = "/var/run/mooring/ca.crt";
    const ca = fs.existsSync(file) ? fs.readFileSync(file) : ${JSON.stringify(await published(stage))};
    const to = { host: "${host}", servername: "mooring-aggregator.mooring.svc", port: 8443, ca };
    const socket = tls.connect(to, () => { console.log(socket.getPeerX509Certificate().fingerprint256); socket.destroy(); });
    // The Service may still lead to the address of a deleted pod: without a limit the connection hangs for two minutes.
    socket.setTimeout(5_000, () => socket.destroy(new Error("no answer")));`;
  return await fromAgents(stage, code);
}

/** Answers the fingerprint that all agents are served. Throws a HarnessError unless it is the same for all, and such a one. */
export async function requireServed(stage: Stage, isIt: (fingerprint: string) => boolean): Promise<string> {
  const [one = "", ...others] = await servedToAgents(stage);
  if (!isIt(one) || others.some((other) => other !== one)) throw new HarnessError([one, ...others].join(" "));
  return one;
}

/** How many authorities each agent's file has. */
export async function trustedByAgents(stage: Stage): Promise<readonly number[]> {
  const code = `console.log(fs.readFileSync("/var/run/mooring/ca.crt", "utf8").split("-----BEGIN ").length - 1)`;
  return (await fromAgents(stage, code)).map(Number);
}

/** The tries of all agents that are there. */
export async function triesOfAgents(stage: Stage): Promise<Tries> {
  const tries = await Promise.all(
    NODES.map(async (node) => triesIn(await metricsOf(stage, await agentOn(stage, node)))),
  );
  const sum = (of: keyof Tries): number => tries.reduce((total, one) => total + one[of], 0);
  return { accepted: sum("accepted"), failed: sum("failed") };
}

/** Watches what becomes of reports until the signal is aborted, also of agents that are replaced meanwhile. */
export async function watchDelivery(stage: Stage, signal: AbortSignal): Promise<Delivery> {
  const { clock } = stage.owner;
  const failed = new Map<string, { readonly first: number; readonly last: number }>();
  const acceptedAt = new Map<NodeName, number>();
  const begin = clock.monotonicMs();
  let longestMs = 0;
  const noteGap = (node: NodeName): void => {
    longestMs = Math.max(longestMs, clock.monotonicMs() - (acceptedAt.get(node) ?? begin));
  };
  const look = async (node: NodeName): Promise<void> => {
    noteGap(node);
    const agent = await answering(stage, node);
    if (agent !== undefined) {
      const { failed: last } = triesIn(agent.metrics);
      // Those of an agent that came meanwhile count from its start.
      const first = failed.get(agent.uid)?.first ?? (acceptedAt.has(node) ? 0 : last);
      failed.set(agent.uid, { first, last });
      const ageSeconds = valueIn(agent.metrics, "mooring_accepted_report_age_seconds");
      if (ageSeconds !== undefined) acceptedAt.set(node, clock.monotonicMs() - ageSeconds * 1000);
    }
    noteGap(node);
  };
  while (!signal.aborted) {
    await Promise.all(NODES.map(look));
    await clock.sleep(SAMPLE_MS, signal);
  }
  return { failed: [...failed.values()].reduce((sum, { first, last }) => sum + last - first, 0), longestMs };
}

function triesIn(metrics: string): Tries {
  const tries = { accepted: 0, failed: 0 };
  for (const [, outcome, count] of metrics.matchAll(/^mooring_reports_sent_total\{outcome="([^"]+)"\} (\d+)$/gm))
    tries[outcome === "accepted" ? "accepted" : "failed"] += Number(count);
  return tries;
}

/** Nothing while it is replaced. */
async function answering(
  stage: Stage,
  node: NodeName,
): Promise<(MooringPod & { readonly metrics: string }) | undefined> {
  try {
    const agent = await agentOn(stage, node);
    return { ...agent, metrics: await metricsOf(stage, agent) };
  } catch {
    // For how long that lasts is what is measured.
    return undefined;
  }
}
