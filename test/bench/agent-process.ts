import { createSystemRandom } from "../../common/runtime/random.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { StandInKubelet } from "../rig/stand-in/kubelet.ts";
import type { Stage } from "../rig/stand-in/stage.ts";
import { answered, startInPod } from "./pod-process.ts";
import { connections, cpuMs, residentMiB } from "./process-figures.ts";

/** The settings of an agent under measurement. */
export interface AgentRun {
  readonly name: string;
  readonly script: string;
  readonly kubelet: StandInKubelet;
  readonly aggregatorUrl: string;
}

/** A running agent, and the kernel's figures of it. */
export interface MeasuredAgent {
  readonly child: OwnedChild;
  /** Base of its health endpoints. */
  readonly url: string;
  /** Resident memory in MiB. */
  readonly residentMiB: () => number;
  /** Processor time used so far, in milliseconds. */
  readonly cpuMs: () => number;
  /** Open TCP connections that it made. */
  readonly connections: () => number;
}

/** Starts an agent as a pod runs it, with a service account and without a kubeconfig, and waits until it is ready. */
export async function startPodAgent({ owner, plane }: Stage, run: AgentRun): Promise<MeasuredAgent> {
  const { name, script, kubelet, aggregatorUrl } = run;
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const args = [
    ["--node", kubelet.node],
    ["--pod-uid", kubelet.agentPodUid],
    ["--aggregator-url", aggregatorUrl],
    ["--mountinfo", kubelet.namespace.mountInfo],
    ["--metrics-bind-address", `127.0.0.1:${port}`],
    ["--debug-bind-address", "127.0.0.1:0"],
  ].flat();
  const child = await startInPod(owner, plane, { name: `agent-${name}`, account: "mooring-agent", script, args });
  const url = `http://127.0.0.1:${port}`;
  await answered(owner, { child, url: `${url}/readyz?verbose`, limitMs: 30_000 });
  return {
    child,
    url,
    residentMiB: () => residentMiB(child.pid),
    cpuMs: () => cpuMs(child.pid),
    connections: () => connections(child.pid, port),
  };
}
