import type { UpstreamPolicy } from "../../../../aggregator/core/claim-write.ts";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import type {
  AppliedStatus,
  ClaimStatusWriter,
  WriteResult,
} from "../../../../aggregator/sinks/claim-status-writer.ts";
import { ClaimWrites } from "../../../../aggregator/writing/claim-writes.ts";
import { InternalErrors } from "../../../../common/runtime/internal-errors.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { createFakeClock, type FakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger, type FakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

/** One call of the writer. */
export interface Call {
  readonly what: "apply" | "clean" | "read";
  readonly key: string;
  readonly resourceVersion: string;
  readonly applied?: AppliedStatus;
  readonly annotations?: readonly string[];
}

/** Answers a call instead of the API server; nothing lets it be done. */
export type Answerer = (call: Call, index: number) => WriteResult | Promise<WriteResult> | undefined;

/** The writes of claims that are decided by hand, with an API server that is a map and a clock that is moved by hand. */
export class WritesHarness {
  readonly clock: FakeClock = createFakeClock();
  readonly logger: FakeLogger = createFakeLogger();
  readonly calls: Call[] = [];
  readonly warnings: (ClaimWarning & { readonly key: string })[] = [];
  /** What the API server has, and what the aggregator sees of it. */
  readonly stored = new Map<string, Claim>();
  readonly seen = new Map<string, Claim>();
  readonly desired = new Map<string, ClaimStatus>();
  policy: UpstreamPolicy = "remove";
  /** The watch shows what is written before its answer is there, as it often does. */
  isWatchFirst = false;
  answer: Answerer = () => undefined;
  readonly writes: ClaimWrites;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(claims: readonly Claim[], reasonDelayMs = 5_000) {
    for (const claim of claims) this.put(claim);
    const { clock, logger } = this;
    const parts = {
      ...{ clock, logger, random: createFixedRandom(0.5), writer: this.#writer() },
      warnings: {
        tell: (claim: Claim, warning: ClaimWarning) => void this.warnings.push({ ...warning, key: claim.key }),
      },
      policy: () => this.policy,
      unstored: { note: () => {}, settle: () => {}, forget: () => {} },
      internalErrors: new InternalErrors(logger),
      decide: (key: string) => this.decisionOn(key),
      isUrgent: (key: string) => this.seen.get(key)?.isDeleting === true,
      onRead: (claim: Claim) => void this.seen.set(claim.key, claim),
    };
    this.writes = new ClaimWrites(parts, { reasonDelayMs });
    this.#running = this.writes.run(this.#stopping.signal);
  }

  /** The API server has the claim, and the watch shows it. */
  put(claim: Claim): void {
    this.stored.set(claim.key, claim);
    this.seen.set(claim.key, claim);
  }

  decisionOn(key: string) {
    const claim = this.seen.get(key);
    return (
      claim && { claim, isEligible: !claim.isDeleting || claim.status !== undefined, desired: this.desired.get(key) }
    );
  }

  /** Something was decided for a claim. */
  async want(key: string, status?: ClaimStatus): Promise<void> {
    if (status !== undefined) this.desired.set(key, status);
    this.consider(key);
    await this.advance(0);
  }

  /** The same, without letting anything be done yet. */
  consider(key: string): void {
    const decision = this.decisionOn(key);
    if (decision !== undefined) this.writes.consider(decision);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await settle();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.logger.throwBug();
  }

  #writer(): ClaimStatusWriter {
    return {
      apply: (claim, applied) =>
        this.#called({ ...callOf("apply", claim), applied }, () => this.#store(claim, { status: applied.status })),
      clean: (claim, annotations) =>
        this.#called({ ...callOf("clean", claim), annotations }, () => this.#store(claim, {})),
      read: (claim) =>
        this.#called(callOf("read", claim), () => {
          const now = this.stored.get(claim.key);
          return now?.uid === claim.uid ? { kind: "written", claim: now } : { kind: "stale", message: "gone" };
        }),
    };
  }

  async #called(call: Call, carryOut: () => WriteResult): Promise<WriteResult> {
    this.calls.push(call);
    const answer = (await this.answer(call, this.calls.length - 1)) ?? carryOut();
    const stored = this.stored.get(call.key);
    if (this.isWatchFirst && stored !== undefined) {
      this.seen.set(call.key, stored);
      this.consider(call.key);
    }
    return answer;
  }

  #store(claim: Claim, fields: Partial<Claim>): WriteResult {
    const now = this.stored.get(claim.key);
    if (now?.uid !== claim.uid || now.resourceVersion !== claim.resourceVersion)
      return { kind: "stale", message: "409" };
    const strays = now.strays?.filter(({ fault }) => fault === "unwanted" && "status" in fields);
    const left = strays === undefined || strays.length === 0 ? undefined : strays;
    const written = { ...now, ...fields, strays: left, resourceVersion: String(Number(now.resourceVersion) + 1) };
    this.stored.set(claim.key, written);
    return { kind: "written", claim: written };
  }
}

function callOf(what: Call["what"], { key, resourceVersion }: Claim): Call {
  return { what, key, resourceVersion };
}
