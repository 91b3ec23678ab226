import * as v from "valibot";
import type { Call } from "../engine/fate.ts";
import type { Dice } from "./dice.ts";

/** The fields of a message to the aggregator that identify its sender. */
const message = v.object({
  node: v.string(),
  bootId: v.string(),
  instance: v.string(),
  generation: v.number(),
  mountedVolumes: v.optional(v.unknown()),
});

type Message = v.InferOutput<typeof message>;

interface Copy extends Message {
  readonly deliver: () => void;
}

/** Number of reports that it keeps of each node. */
const MOST_KEPT = 400;
/** Delays after the leader's label has moved: the aggregator believes the first report of a node. Milliseconds. */
const DELIVERY_DELAYS_MS = [6, 30, 150, 700] as const;

interface CopiesParts {
  readonly dice: Dice;
  readonly after: (ms: number, act: () => void) => void;
}

/**
 * Copies of reports that a proxy has kept, and delivers at the worst moment: to a new leader, before the node's own next report. The worst
 * copies come from an earlier run of the agent whose state has the same generation as the present one's.
 */
export class Copies {
  readonly #parts: CopiesParts;
  #isKeeping = false;
  #isArmed = false;
  readonly #newest = new Map<string, Message>();
  readonly #kept = new Map<string, readonly Copy[]>();

  constructor(parts: CopiesParts) {
    this.#parts = parts;
  }

  /** Starts to keep copies. */
  keep(): void {
    this.#isKeeping = true;
  }

  /** The next new leader gets the copies. */
  arm(): void {
    this.#isArmed = true;
  }

  /** Returns a function that keeps a copy of this call; undefined for a call that is not kept. */
  copierOf({ site, request }: Call): ((deliver: () => void) => void) | undefined {
    if (!this.#isKeeping || site !== "put report") return undefined;
    const sent = v.parse(message, JSON.parse(request.body ?? ""));
    this.#newest.set(sent.node, sent);
    if (sent.mountedVolumes === undefined) return undefined;
    const kept = this.#kept.get(sent.node) ?? [];
    return (deliver) => void this.#kept.set(sent.node, [...kept.slice(1 - MOST_KEPT), { ...sent, deliver }]);
  }

  /** Another replica leads. */
  onLeader(): void {
    if (!this.#isArmed) return;
    this.#isArmed = false;
    for (const [node, copies] of this.#kept) {
      const copy = this.#worst(this.#newest.get(node), copies);
      if (copy !== undefined) for (const ms of DELIVERY_DELAYS_MS) this.#parts.after(ms, copy.deliver);
    }
  }

  #worst(newest: Message | undefined, copies: readonly Copy[]): Copy | undefined {
    const earlier = copies.filter(({ bootId, instance }) => bootId === newest?.bootId && instance !== newest.instance);
    const alike = earlier.findLast(({ generation }) => generation === newest?.generation);
    return alike ?? (earlier.length === 0 ? undefined : this.#parts.dice.pick(earlier));
  }
}
