import { type ClaimFacts, decide } from "../../../aggregator/core/claims/decide.ts";
import { statusOf } from "../../../aggregator/core/claims/message.ts";
import type { UseEnd } from "../../../aggregator/core/claims/use-end.ts";
import { writeClaimStatus } from "../../../common/storage/claim-status.ts";
import { volumeKey } from "../../../common/storage/volume-identity.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { factsWith } from "../../unit/aggregator/core/decisions.ts";
import { bootIdOf, type ClaimPlace, digestOf, nodeName, uuidOf } from "./layout.ts";

/** The boot clocks of the nodes when the conditions were written. Milliseconds. */
export const UPTIME_MS = 2 * 86_400_000;
/** The boot clocks when the agents started to scan: long before, so that no time of a condition was unobserved. */
export const WATCHED_FROM_MS = UPTIME_MS / 2;

/** How long before its end a use was last scanned, on a node with ten scans a second. */
const WIDTH_MS = 100;

/** The claim of a condition, and its time: a whole second that is not before the claim's creation. */
export interface Writing {
  readonly uid: string;
  readonly atMs: number;
}

/** What the aggregator applies to a claim. */
export interface WrittenCondition {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly status: { readonly conditions: readonly Readonly<Record<string, string>>[] };
}

/**
 * The condition that an aggregator has written for a claim, by the reports of the fleet: the product itself decides it. Every other idle
 * claim was used once, and the node's mount table showed its end.
 */
export function writtenCondition(place: ClaimPlace, { uid, atMs }: Writing): WrittenCondition {
  const status = statusOf(decide(factsWith({ ...useOf(place, atMs), nowMs: atMs })), undefined);
  if (status === undefined) throw new HarnessError("the aggregator would write no condition");
  const { condition, annotations } = writeClaimStatus(uid, status);
  return { metadata: { annotations }, status: { conditions: [condition] } };
}

function useOf(place: ClaimPlace, atMs: number): Partial<ClaimFacts> {
  const { isUsed, node, index } = place;
  if (isUsed) return { usedOn: [nodeName(node)], references: [podOf(place)] };
  return index % 2 === 0 ? {} : { ends: [endOf(place, atMs)] };
}

function endOf(place: ClaimPlace, byMs: number): UseEnd {
  const { index, node, volume } = place;
  const podUid = uuidOf(`former pod of claim ${index}`);
  const unmountRecord = [bootIdOf(node), UPTIME_MS * 1000, podUid, volumeKey({ by: "name", name: volume })];
  return {
    id: unmountRecord.join("/"),
    evidence: "mount-table",
    byMs,
    widthMs: WIDTH_MS,
    node: nodeName(node),
    pod: podOf(place),
    podUid,
    wasUse: true,
  };
}

/** A pod that is gone. */
function podOf({ namespace, name, index }: ClaimPlace): string {
  return `${namespace}/${name.replace(/^data-|-0$/g, "")}-${digestOf(`former pod of claim ${index}`).slice(0, 5)}`;
}
