import type { NodeState } from "../core/list-items.ts";
import { choiceParameter, nameParameter, type Query } from "../core/list-query.ts";
import { type NodeStanding, nodeList } from "../core/node-list.ts";
import type { Listing } from "../core/paging.ts";
import { compareText } from "../core/sorted-list.ts";

/** What the nodes can be asked by, beside what every list takes. */
export const NODE_PARAMETERS = {
  name: nameParameter("name"),
  state: choiceParameter("state", ["agent", "silent", "agentless", "gone"] as const satisfies readonly NodeState[]),
} as const;

/** Where the list of nodes looks. */
export interface NodeSources {
  /** Every Node of the cluster, and every node that has reported: those that somebody looks for are one without the other. */
  readonly nodeNames: () => readonly string[];
  readonly standingOf: (name: string) => NodeStanding;
  readonly stateOf: (name: string) => NodeState;
  /** The API server's wall clock, as that of the views. Milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** The nodes that a query asks for, by name. There are so few that they are looked at in one batch. */
export function nodeListing({ all }: Query, { nodeNames, standingOf, stateOf, nowMs }: NodeSources): Listing {
  const [names, states] = [all(NODE_PARAMETERS.name), all(NODE_PARAMETERS.state)];
  const isAsked = (name: string): boolean =>
    (names.length === 0 || names.includes(name)) && (states.length === 0 || states.includes(stateOf(name)));
  return {
    batch: (after) => ({
      entries: nodeNames()
        .filter((name) => after === undefined || name > after.key)
        .toSorted(compareText)
        .map((key) => ({ key })),
      reached: undefined,
    }),
    item: ({ key }) => (isAsked(key) ? JSON.stringify(nodeList([standingOf(key)], nowMs()).items[0]) : undefined),
  };
}
