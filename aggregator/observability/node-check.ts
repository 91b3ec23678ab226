import { type CheckResult, failed, PASSED } from "../../common/runtime/health.ts";
import type { Reconciler } from "../claims/reconciler.ts";
import type { AgentStates } from "../nodes/agent-states.ts";

/** What a session knows of the nodes that it waits for. */
export interface NodesSession {
  /** Nodes that are expected to report and have not since leading began. */
  readonly unreported: readonly string[];
  readonly agentStates: Pick<AgentStates, "named">;
  readonly reconciler: Pick<Reconciler, "blocked">;
}

const MOST_NAMES = 5;

/**
 * Ready when every node has reported since the start, or has had its time to. After that Stale nodes delay only the claims that need their
 * report: the detail names them, and the check passes. Without a session nothing waits.
 */
export function checkNodes(session: NodesSession | undefined): CheckResult {
  if (session === undefined) return PASSED;
  const { unreported } = session;
  if (unreported.length > 0) return failed(`no report since the start: ${counted(unreported)}`);
  const silent = session.agentStates.named("Stale");
  if (silent.length === 0) return PASSED;
  const claims = session.reconciler.blocked;
  return { ok: true, detail: `Stale: ${counted(silent)}; claims that wait for a node: ${claims}` };
}

function counted(nodes: readonly string[]): string {
  const more = nodes.length > MOST_NAMES ? ` and ${nodes.length - MOST_NAMES} more` : "";
  return `${nodes.length} ${nodes.length === 1 ? "node" : "nodes"} (${nodes.slice(0, MOST_NAMES).join(", ")}${more})`;
}
