import type { Claim } from "../../common/storage/claim.ts";
import type { UnusedReason } from "../../common/storage/claim-status.ts";
import { saidByKubernetes } from "../../common/storage/upstream-unused.ts";
import { type ClaimSight, disagrees, isWaiting, USE_STATUSES, useStatusOf, writtenStatus } from "./claim-list.ts";
import { CLAIM_SORTS } from "./claim-order.ts";
import {
  allows,
  choiceParameter,
  durationParameter,
  flagParameter,
  nameParameter,
  onceParameter,
  type Query,
} from "./list-query.ts";

const REASONS = [
  "Mounted",
  "Referenced",
  "Unmounted",
  "NoPodUsing",
  "NodeGone",
  "NeverObservedInUse",
] as const satisfies readonly UnusedReason[];

/** What the claims can be asked by, beside what every list takes. */
export const CLAIM_PARAMETERS = {
  namespace: nameParameter("namespace"),
  name: nameParameter("name"),
  phase: choiceParameter("phase", ["Pending", "Bound", "Lost"]),
  status: choiceParameter("status", USE_STATUSES),
  reason: choiceParameter("reason", REASONS),
  unusedFor: durationParameter("unusedFor"),
  node: nameParameter("node"),
  storageClass: nameParameter("storageClass"),
  volume: nameParameter("volume"),
  driver: nameParameter("driver"),
  disagrees: flagParameter("disagrees"),
  waiting: flagParameter("waiting"),
  waitsFor: nameParameter("waitsFor"),
  sort: onceParameter("sort", CLAIM_SORTS),
} as const;

/** What a filter looks at beside the claim itself; each is cheap. */
export interface ClaimHints {
  /** The API server's wall clock, at the earliest. */
  readonly nowMs: number;
  /** Some node's last report has the claim's volume in it, staged at least. */
  readonly isSeen: (claim: Claim) => boolean;
  /** Some pod names the claim. */
  readonly isNamed: (claim: Claim) => boolean;
  /** The mount table of the node shows the claim, by its last report. */
  readonly isSeenOn: (node: string, claim: Claim) => boolean;
  /** Claims that may wait for a node; asked for once, by who needs it. */
  readonly waitingClaims: () => ReadonlySet<string>;
  readonly driverOf: (claim: Claim) => string | undefined;
}

/** What a query asks for. */
export interface ClaimFilter {
  /** False for a claim that cannot match, whatever is known of its use: most need no closer look. */
  readonly mayMatch: (claim: Claim) => boolean;
  readonly matches: (sight: ClaimSight) => boolean;
}

/** The filter of a query. Values of one parameter are alternatives; of several parameters all must hold. */
export function claimFilter(query: Query, hints: ClaimHints): ClaimFilter {
  const { all } = query;
  const p = CLAIM_PARAMETERS;
  const [namespaces, names, phases, classes, volumes, reasons, drivers] = [
    new Set(all(p.namespace)),
    new Set(all(p.name)),
    new Set<string>(all(p.phase)),
    new Set(all(p.storageClass)),
    new Set(all(p.volume)),
    new Set<string>(all(p.reason)),
    new Set(all(p.driver)),
  ];
  const isAsked = (claim: Claim): boolean =>
    allows(namespaces, claim.namespace) &&
    allows(names, claim.name) &&
    allows(phases, claim.phase) &&
    allows(classes, claim.storageClass) &&
    allows(volumes, claim.volume) &&
    allows(reasons, claim.status?.reason) &&
    (drivers.size === 0 || allows(drivers, hints.driverOf(claim)));
  const rules = rulesOf(query, hints);
  return {
    mayMatch: (claim) => isAsked(claim) && rules.every(({ mayHold }) => mayHold(claim)),
    matches: (sight) => isAsked(sight.claim) && rules.every(({ holds }) => holds(sight)),
  };
}

/** A condition on how a claim is used, and a cheap one that holds wherever it does. */
interface Rule {
  readonly mayHold: (claim: Claim) => boolean;
  readonly holds: (sight: ClaimSight) => boolean;
}

function rulesOf({ all, one }: Query, hints: ClaimHints): readonly Rule[] {
  const p = CLAIM_PARAMETERS;
  const [statuses, nodes, awaited] = [all(p.status), all(p.node), all(p.waitsFor)];
  const [unusedFor, disagreement, waiting] = [one(p.unusedFor), one(p.disagrees), one(p.waiting)];
  return [
    ...(statuses.length === 0 ? [] : [statusRule(new Set<string>(statuses), hints)]),
    ...(unusedFor === undefined ? [] : [unusedRule(unusedFor, hints)]),
    ...(nodes.length === 0 ? [] : [nodeRule(nodes, hints)]),
    ...(disagreement === undefined ? [] : [disagreementRule(disagreement, hints)]),
    ...(waiting === undefined ? [] : [waitingRule(waiting, hints)]),
    ...(awaited.length === 0 ? [] : [awaitedRule(new Set(awaited), hints)]),
  ];
}

function statusRule(statuses: ReadonlySet<string>, { isSeen, isNamed }: ClaimHints): Rule {
  return {
    // More can be known than what is written; that it is mounted, whatever else, is written until it is not.
    mayHold: (claim) =>
      statuses.has(writtenStatus(claim)) ||
      (claim.status?.reason !== "Mounted" &&
        ((statuses.has("Mounted") && isSeen(claim)) || (statuses.has("Referenced") && isNamed(claim)))),
    holds: (sight) => statuses.has(useStatusOf(sight)),
  };
}

function unusedRule(forMs: number, { nowMs }: ClaimHints): Rule {
  const isOld = ({ status }: Claim): boolean => status?.unused === true && nowMs - status.sinceMs >= forMs;
  // What is written may be behind: a claim that is in use by now is not unused, for however long.
  return { mayHold: isOld, holds: (sight) => isOld(sight.claim) && useStatusOf(sight) === "Unused" };
}

function nodeRule(nodes: readonly string[], { isSeenOn }: ClaimHints): Rule {
  const isStored = ({ status }: Claim): boolean => nodes.some((node) => status?.mountedOn?.nodes.includes(node));
  const isHeld = ({ use }: ClaimSight): boolean =>
    nodes.some((node) => use.staged.includes(node) || use.held.some((held) => held.node === node));
  return {
    mayHold: (claim) => isStored(claim) || nodes.some((node) => isSeenOn(node, claim)),
    holds: (sight) => isStored(sight.claim) || isHeld(sight),
  };
}

function disagreementRule(wanted: boolean, { isSeen }: ClaimHints): Rule {
  const isPossible = (claim: Claim): boolean =>
    saidByKubernetes(claim.upstream)?.unused === true && (claim.status?.reason === "Mounted" || isSeen(claim));
  return { mayHold: (claim) => !wanted || isPossible(claim), holds: (sight) => disagrees(sight) === wanted };
}

function waitingRule(wanted: boolean, { waitingClaims }: ClaimHints): Rule {
  const waiting = wanted ? waitingClaims() : undefined;
  return { mayHold: ({ key }) => waiting?.has(key) ?? true, holds: (sight) => isWaiting(sight) === wanted };
}

function awaitedRule(nodes: ReadonlySet<string>, { waitingClaims }: ClaimHints): Rule {
  const waiting = waitingClaims();
  return {
    mayHold: ({ key }) => waiting.has(key),
    holds: (sight) => isWaiting(sight) && sight.awaited.some(({ node }) => nodes.has(node)),
  };
}
