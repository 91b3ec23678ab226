import { array, boolean, number, object, optional, parse, string } from "valibot";
import { processOfPod } from "../rig/node/processes.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { MooringPart, World } from "./world.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases/mooring-aggregator";
const AGGREGATORS = "/api/v1/namespaces/mooring/pods";
const AGENTS = "/api/v1/namespaces/mooring-agents/pods";

const lease = object({ spec: object({ holderIdentity: optional(string(), "") }) });
const pod = object({
  metadata: object({ name: string(), uid: string() }),
  spec: object({ nodeName: string() }),
  status: object({
    podIP: optional(string(), ""),
    containerStatuses: optional(array(object({ ready: boolean(), restartCount: number() })), []),
  }),
});
const podList = object({ items: array(pod) });

/** Access to Mooring's pods. */
export interface MooringGround extends Pick<World, "owner" | "api" | "limitMs"> {
  /** Prints what happens. */
  readonly note: (text: string) => void;
}

/** A pod of Mooring. */
export interface MooringPod {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly address: string;
  readonly isReady: boolean;
  readonly restarts: number;
}

/** The pod of the leading aggregator. Throws a HarnessError without a leader. */
export async function leaderOf(ground: Pick<MooringGround, "api">): Promise<MooringPod> {
  // The holder identity begins with the pod name; each run adds its own suffix.
  const [name = ""] = (await holderOf(ground)).split("_");
  if (name === "") throw new HarnessError("no aggregator leads");
  return readPod(await ground.api.get(`${AGGREGATORS}/${name}`));
}

/** The leading aggregator: when it is killed, another one takes over. */
export function leadingAggregator(ground: MooringGround): MooringPart {
  const { owner, limitMs, note } = ground;
  let killed = "";
  return {
    kill: async () => {
      killed = await holderOf(ground);
      const { name, node, uid } = await leaderOf(ground);
      process.kill(processOfPod(uid, "mooring-aggregator"), "SIGKILL");
      note(`kill -9 of ${name} on ${node}, which leads`);
    },
    back: async () => {
      note("another one takes over when the Lease has run out, after 15 s");
      const check = async (): Promise<void> => {
        const holder = await holderOf(ground);
        if (holder === "" || holder === killed) throw new HarnessError("no other one leads yet");
      };
      await waitUntil(owner, { what: "another leader", limitMs, check });
      const { name, node } = await leaderOf(ground);
      note(`${name} on ${node} leads now`);
    },
  };
}

/** The agent of a node: when it is killed, the kubelet restarts it. */
export function agentOn(ground: MooringGround, node: string): MooringPart {
  let isBack = (): Promise<void> => Promise.resolve();
  return {
    kill: async () => {
      isBack = await restartOn(ground, node);
      const { uid, name } = await agentPod(ground, node);
      process.kill(processOfPod(uid, "mooring-agent"), "SIGKILL");
      ground.note(`kill -9 of ${name}; the kubelet starts it again`);
    },
    back: () => isBack(),
  };
}

/** Records how often the agent of a node has started; the returned function waits until it has restarted and works. */
export async function restartOn(ground: MooringGround, node: string): Promise<() => Promise<void>> {
  const { restarts } = await agentPod(ground, node);
  const check = async (): Promise<void> => {
    const now = await agentPod(ground, node);
    if (now.restarts <= restarts || !now.isReady) throw new HarnessError("it is not ready again");
  };
  return () => waitUntil(ground.owner, { what: `the agent of ${node}`, limitMs: ground.limitMs, check });
}

async function agentPod({ api }: Pick<MooringGround, "api">, node: string): Promise<MooringPod> {
  const { items } = parse(podList, await api.get(AGENTS));
  const [found] = items.filter(({ spec }) => spec.nodeName === node);
  if (found === undefined) throw new HarnessError(`there is no agent on ${node}`);
  return readPod(found);
}

async function holderOf({ api }: Pick<MooringGround, "api">): Promise<string> {
  return parse(lease, await api.get(LEASE)).spec.holderIdentity;
}

function readPod(value: unknown): MooringPod {
  const { metadata, spec, status } = parse(pod, value);
  const [container] = status.containerStatuses;
  return {
    ...metadata,
    node: spec.nodeName,
    address: status.podIP,
    isReady: container?.ready ?? false,
    restarts: container?.restartCount ?? 0,
  };
}
