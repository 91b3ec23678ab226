import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { Call, Fate, Refusal, Weather } from "../engine/fate.ts";
import type { Dice } from "./dice.ts";

/** What can befall requests for a time. */
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

/** A fault and whom it befalls. */
export interface Storm {
  /** `refused`: the API server, or what stands before it, says no. */
  readonly kind: NetworkFault | "refused";
  /** A part of the name of the processes whose requests it befalls. */
  readonly from: string;
  readonly to: "api" | "aggregator" | "both";
  /** Of each request; a way that is cut off is so for all. */
  readonly probability: number;
  /** Where it befalls a part of what is sent: the begins of what that is called, such as `list pods`. */
  readonly at?: readonly string[];
  /** What a refusal says; 403 unless told. */
  readonly status?: Refusal["status"];
}

interface SkyParts {
  readonly dice: Dice;
  /** Changes the claim that a write is on its way to. */
  readonly touchClaim: (path: string) => void;
  /** Told of each write to a claim when it is sent, whatever befalls it. */
  readonly onClaimWrite: (request: HttpRequest) => void;
  /** Told of each rejection of a pod when it is sent. */
  readonly onPodWrite: (request: HttpRequest) => void;
  /** Told of each request that something befalls. */
  readonly onStruck: (call: Call, fate: Fate) => void;
  readonly servers: () => number;
  /** Keeps a copy of what is sent, where somebody does. */
  readonly keeperOf: (call: Call) => Fate["keep"];
}

/** What the weather is at present. */
export class Sky {
  readonly #parts: SkyParts;
  readonly #storms = new Set<Storm>();
  /** How often each fault has befallen a request. */
  readonly hits = new Map<Storm["kind"], number>();
  /** How many writes to claims were sent, whether they changed anything or not. */
  claimWrites = 0;

  constructor(parts: SkyParts) {
    this.#parts = parts;
  }

  begin(storm: Storm): void {
    this.#storms.add(storm);
  }

  end(storm: Storm): void {
    this.#storms.delete(storm);
  }

  clear(): void {
    this.#storms.clear();
  }

  get isCalm(): boolean {
    return this.#storms.size === 0;
  }

  readonly weather: Weather = (call) => {
    const { dice, servers, onClaimWrite } = this.#parts;
    if (call.request.method === "PATCH" && call.site.includes("persistentvolumeclaims")) {
      this.claimWrites += 1;
      onClaimWrite(call.request);
    }
    if (call.site === "patch pods/status") this.#parts.onPodWrite(call.request);
    const [requestMs, answerMs] = [0.2 + dice.fraction(), 0.2 + dice.fraction()];
    const usual: Fate = {
      keep: this.#parts.keeperOf(call),
      requestMs,
      answerMs: () => answerMs,
      server: dice.between(0, servers() - 1),
    };
    return [...this.#storms]
      .filter((storm) => befalls(storm, call) && dice.chance(storm.probability))
      .reduce<Fate>((before, storm) => this.#strike(before, storm, call), usual);
  };

  #strike(fate: Fate, storm: Storm, call: Call): Fate {
    const { kind, status = 403 } = storm;
    const struck = kind === "refused" ? { ...fate, refusal: { status } } : this.#fateOf(fate, kind, call);
    if (struck === fate) return fate;
    this.hits.set(kind, (this.hits.get(kind) ?? 0) + 1);
    this.#parts.onStruck(call, struck);
    return struck;
  }

  /** A stream that was opened in a storm outlives it, and is no longer slow then. */
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

function befalls({ from, to, at }: Storm, call: Call): boolean {
  const isThere = at === undefined || at.some((begin) => call.site.startsWith(begin));
  return isThere && call.from.includes(from) && (to === "both" || to === call.to);
}
