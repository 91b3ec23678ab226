import { type UpstreamPolicy, writeFor } from "../../../../aggregator/core/claim-write.ts";
import type { ClaimWarning } from "../../../../aggregator/sinks/claim-events.ts";
import type { ClaimStatusWriter, WriteResult } from "../../../../aggregator/sinks/claim-status-writer.ts";
import { ClaimWriter, WRITERS } from "../../../../aggregator/writing/claim-writer.ts";
import { WorkQueue } from "../../../../common/kube/work-queue.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { createFakeClock, type FakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger, type FakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

/** One call of the writer. */
export interface Call {
  readonly what: "apply" | "clean";
  readonly key: string;
  readonly resourceVersion: string;
}

/** Answers a call instead of the API server; nothing lets it be done. */
export type Answerer = (call: Call, index: number) => WriteResult | Promise<WriteResult> | undefined;

/** A writer of claims that are decided by hand, with the queue that asks it, an API server that is a map, and a clock that a test moves. */
export class WriterHarness {
  readonly clock: FakeClock = createFakeClock();
  readonly logger: FakeLogger = createFakeLogger();
  readonly calls: (Call & { readonly atS: number })[] = [];
  readonly warnings: (ClaimWarning & { readonly key: string })[] = [];
  /** What the API server has, and what the aggregator sees of it. */
  readonly stored = new Map<string, Claim>();
  readonly seen = new Map<string, Claim>();
  readonly desired = new Map<string, ClaimStatus>();
  policy: UpstreamPolicy = "remove";
  /** The watch shows what is written before its answer is there, as it often does. */
  isWatchFirst = false;
  answer: Answerer = () => undefined;
  readonly writer: ClaimWriter;
  readonly #queue: WorkQueue;
  readonly #begunAtMs = this.clock.monotonicMs();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(claims: readonly Claim[], reasonDelayMs = 5_000) {
    for (const claim of claims) this.put(claim);
    const { clock, logger } = this;
    const parts = {
      ...{ clock, logger, random: createFixedRandom(0.5), writer: this.#server() },
      warnings: {
        tell: (claim: Claim, warning: ClaimWarning) => void this.warnings.push({ ...warning, key: claim.key }),
      },
      unstored: { settle: () => {} },
      onWritten: (claim: Claim) => void this.seen.set(claim.key, claim),
      retry: (keys: Iterable<string>) => this.#queue.addAll(keys),
    };
    this.writer = new ClaimWriter(parts, { reasonDelayMs });
    const isLate = (key: string): boolean => this.writer.isFailing(key);
    this.#queue = new WorkQueue({ clock, logger, random: parts.random, isLate }, WRITERS);
    this.#running = this.#queue.run((key, signal) => this.#bring(key, signal), this.#stopping.signal);
  }

  /** The API server has the claim, and the watch shows it. */
  put(claim: Claim): void {
    this.stored.set(claim.key, claim);
    this.seen.set(claim.key, claim);
  }

  async #bring(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.seen.get(key);
    if (claim === undefined) return this.writer.forget(key);
    const write = writeFor({ claim, isEligible: true, desired: this.desired.get(key) }, this.policy);
    const againMs = await this.writer.bring({ claim, write }, signal);
    if (againMs !== undefined) this.#queue.addAfter(key, againMs);
  }

  /** Something was decided for a claim. */
  async want(key: string, status?: ClaimStatus): Promise<void> {
    if (status !== undefined) this.desired.set(key, status);
    this.add(key);
    await this.advance(0);
  }

  /** The same, without letting anything be done yet. */
  add(key: string): void {
    this.#queue.add(key);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await settle();
  }

  /** Seconds since the begin. */
  get nowS(): number {
    return Math.round(this.clock.monotonicMs() - this.#begunAtMs) / 1_000;
  }

  /** The claim has another version, and the watch shows it. */
  async change(fields: Partial<Claim> = {}, key = "shop/data"): Promise<void> {
    const stored = this.stored.get(key);
    if (stored === undefined) return;
    this.put({ ...stored, resourceVersion: String(Number(stored.resourceVersion) + 1), ...fields });
    await this.want(key);
  }

  /** The claim goes, and the watch shows that. */
  async remove(key: string): Promise<void> {
    this.stored.delete(key);
    this.seen.delete(key);
    this.writer.forget(key);
    await this.want(key);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.logger.throwBug();
  }

  #server(): ClaimStatusWriter {
    return {
      apply: (claim, { status }) => this.#called(callOf("apply", claim), () => this.#store(claim, { status })),
      clean: (claim) => this.#called(callOf("clean", claim), () => this.#store(claim, {})),
    };
  }

  async #called(call: Call, carryOut: () => WriteResult): Promise<WriteResult> {
    this.calls.push({ ...call, atS: this.nowS });
    const answer = (await this.answer(call, this.calls.length - 1)) ?? carryOut();
    const stored = this.stored.get(call.key);
    if (this.isWatchFirst && stored !== undefined) {
      this.seen.set(call.key, stored);
      this.add(call.key);
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
