import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { Call, Fate, FaultPolicy, Refusal } from "../engine/fate.ts";
import type { Dice } from "./dice.ts";

/** Network faults. */
export const NETWORK_FAULTS = [
  "cut-off",
  "lost-requests",
  "lost-answers",
  "slow",
  "repeated",
  "overloaded",
  "failing",
  "broken-streams",
  "other-writers",
  "forbidden-writes",
] as const;

export type NetworkFault = (typeof NETWORK_FAULTS)[number];

/** A fault that is active, and the processes that it hits. */
export interface ActiveFault {
  /** `refused`: the API server, or a proxy in front of it, refuses. */
  readonly kind: NetworkFault | "refused";
  /** A part of the name of the processes that it hits. */
  readonly from: string;
  readonly to: "api" | "aggregator" | "both";
  /** For each request. A cut connection loses all of them. */
  readonly probability: number;
  /** Only requests whose site name begins with one of these, such as `list pods`. */
  readonly at?: readonly string[];
  /** The status of a refusal; the default is 403. */
  readonly status?: Refusal["status"];
}

interface FaultInjectorParts {
  readonly dice: Dice;
  /** Changes the claim that a write is about to change. */
  readonly touchClaim: (path: string) => void;
  /** Called for each write to a claim when the client sends it, whatever faults hit it. */
  readonly onClaimWrite: (request: HttpRequest) => void;
  /** Called for each rejection of a pod when the agent sends it. */
  readonly onPodWrite: (request: HttpRequest) => void;
  /** Called for each request that a fault hits. */
  readonly onFault: (call: Call, fate: Fate) => void;
  readonly servers: () => number;
  /** Returns a function that keeps a copy of a request; undefined for a request that nobody keeps. */
  readonly copierOf: (call: Call) => Fate["keep"];
}

/** The active network faults. */
export class FaultInjector {
  readonly #parts: FaultInjectorParts;
  readonly #active = new Set<ActiveFault>();
  /** How many requests each fault has hit. */
  readonly hits = new Map<ActiveFault["kind"], number>();
  /** How many writes to claims were sent, with or without effect. */
  claimWrites = 0;

  constructor(parts: FaultInjectorParts) {
    this.#parts = parts;
  }

  begin(active: ActiveFault): void {
    this.#active.add(active);
  }

  end(active: ActiveFault): void {
    this.#active.delete(active);
  }

  clear(): void {
    this.#active.clear();
  }

  get isCalm(): boolean {
    return this.#active.size === 0;
  }

  readonly faultPolicy: FaultPolicy = (call) => {
    const { dice, servers, onClaimWrite } = this.#parts;
    if (call.request.method === "PATCH" && call.site.includes("persistentvolumeclaims")) {
      this.claimWrites += 1;
      onClaimWrite(call.request);
    }
    if (call.site === "patch pods/status") this.#parts.onPodWrite(call.request);
    const [requestMs, answerMs] = [0.2 + dice.fraction(), 0.2 + dice.fraction()];
    const usual: Fate = {
      keep: this.#parts.copierOf(call),
      requestMs,
      answerMs: () => answerMs,
      server: dice.between(0, servers() - 1),
    };
    return [...this.#active]
      .filter((active) => hits(active, call) && dice.chance(active.probability))
      .reduce<Fate>((before, active) => this.#noteFault(before, active, call), usual);
  };

  #noteFault(fate: Fate, active: ActiveFault, call: Call): Fate {
    const { kind, status = 403 } = active;
    const faulty = kind === "refused" ? { ...fate, refusal: { status } } : this.#fateOf(fate, kind, call);
    if (faulty === fate) return fate;
    this.hits.set(kind, (this.hits.get(kind) ?? 0) + 1);
    this.#parts.onFault(call, faulty);
    return faulty;
  }

  /** A stream that was opened during the fault outlives it, and is slow only until then. */
  #slowly(ms: number, { answerMs }: Fate): () => number {
    return () => (this.isCalm ? (answerMs?.() ?? 0) : ms);
  }

  #fateOf(fate: Fate, kind: NetworkFault, { site, request }: Call): Fate {
    const { dice, touchClaim } = this.#parts;
    const broken = dice.chance(0.5) ? dice.between(1, 5_000) : undefined;
    switch (kind) {
      case "cut-off":
      case "lost-requests":
        return { ...fate, lost: "request", brokenAfterMs: broken };
      case "lost-answers":
        return { ...fate, lost: "answer", brokenAfterMs: broken };
      case "slow":
        return { ...fate, requestMs: dice.between(1, 9_000), answerMs: this.#slowly(dice.between(1, 3_000), fate) };
      case "repeated":
        return { ...fate, againAfterMs: [dice.between(1, 20), dice.between(1, 15_000)] };
      case "overloaded":
        return { ...fate, refusal: { status: 429, retryAfterS: dice.between(0, 2) } };
      case "failing":
        return { ...fate, refusal: { status: dice.pick([500, 502, 503, 504] as const) } };
      case "broken-streams":
        return { ...fate, cutAfterMs: dice.between(0, 4_000) };
      case "other-writers":
        return site.includes("claim") && request.method === "PATCH"
          ? { ...fate, meanwhile: () => touchClaim(request.path) }
          : fate;
      case "forbidden-writes":
        return site.includes("claim") && request.method === "PATCH" ? { ...fate, refusal: { status: 403 } } : fate;
    }
  }
}

function hits({ from, to, at }: ActiveFault, call: Call): boolean {
  const isThere = at === undefined || at.some((begin) => call.site.startsWith(begin));
  return isThere && call.from.includes(from) && (to === "both" || to === call.to);
}
