import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { claimKeysNear, claimsOf, type Fact } from "../core/claims/attribution.ts";
import { type ClaimFacts, decide, UNWATCHED } from "../core/claims/decide.ts";
import { factsOf, shownEnds } from "../core/claims/facts.ts";
import { statusOf } from "../core/claims/message.ts";
import { type ClaimWrite, writeFor } from "../core/claims/write.ts";
import type { Pod } from "../core/cluster-objects.ts";
import { factsIn } from "../core/nodes/node-view.ts";
import { UnusedWhileMounted } from "../writing/claim-warnings.ts";
import { ClaimWriter, WRITERS, type WriteLimits } from "../writing/claim-writer.ts";
import { Deletions } from "./deletions.ts";
import { ReportAnswers } from "./report-answers.ts";
import { type ClaimParts, ClaimStates } from "./state.ts";

/** Brings the status of every claim up to date. Level-based: a key names the claim, not what happened to it. */
export class ClaimController {
  readonly writer: ClaimWriter;
  readonly unusedWhileMounted: UnusedWhileMounted;
  readonly queue: WorkQueue;
  readonly answers: ReportAnswers;
  readonly deletions: Deletions;
  readonly #parts: ClaimParts;
  readonly #states: ClaimStates;

  constructor(parts: ClaimParts, limits: WriteLimits) {
    this.#parts = parts;
    const { cluster } = parts;
    this.queue = new WorkQueue(
      {
        ...{ ...parts, errors: parts.internalErrors.in("claims") },
        // The stored status of a claim that is being deleted decides whether it may go.
        isUrgent: (key) => cluster.claim(key)?.isDeleting === true && !this.writer.isFailing(key),
        isLate: (key) => this.writer.isFailing(key),
        // Decisions do not wait for hanging writes: this leader has to remember and hand over what it finds.
        prepare: (key) => void this.#decide(key),
      },
      WRITERS,
      parts.measures.queues.claims,
    );
    this.#states = new ClaimStates(parts);
    this.answers = new ReportAnswers({ ...parts, states: this.#states });
    this.deletions = new Deletions(parts);
    const onWritten = (claim: Claim): void => this.#states.noteWritten(claim);
    this.writer = new ClaimWriter({ ...parts, onWritten }, limits);
    this.unusedWhileMounted = new UnusedWhileMounted(parts);
  }

  enqueueAll(): void {
    this.queue.addAll(Iterator.from(this.#parts.cluster.claims()).map(({ key }) => key));
  }

  /** A new leader begins, and works until the signal is aborted. Everything has been listed, and has to be decided. */
  run(signal: AbortSignal): Promise<void> {
    this.#states.begin(this.#parts.cluster.finishedPods());
    this.enqueueAll();
    return this.queue.run((key, limited) => this.#reconcile(key, limited), signal);
  }

  onClaimGone(claim: Claim): void {
    this.#again(claim.key, this.deletions.onGone(this.#states.evidence(claim)));
    this.#states.forget(claim);
    this.writer.forget(claim.key);
    this.unusedWhileMounted.forget(claim);
    this.#parts.unstored.forget(claim);
  }

  /** The pod was bound to a node: until now its mounts there counted as use of any claim with a volume of that name. */
  onPodPlaced({ uid, node = "" }: Pod): void {
    const { cluster, fleet } = this.#parts;
    const facts = factsIn(fleet.view(node)).filter(({ podUid }) => podUid === uid);
    for (const fact of facts) for (const key of claimKeysNear(fact, cluster)) this.queue.add(key);
  }

  keysOf(facts: readonly Fact[]): readonly string[] {
    return facts.flatMap((fact) => claimsOf(fact, this.#parts.cluster)).map(({ key }) => key);
  }

  /** Decides these claims, those that waited for the node, and those whose last use is assumed to end with it. */
  onTouched(node: string, touched: readonly string[]): void {
    const waiting = this.#states.takeWaiting(node);
    for (const key of new Set([...waiting, ...touched, ...this.#parts.cluster.assumedOn(node)])) this.queue.add(key);
  }

  /** Decides also the claims that are mounted there, as messages mention the node's state. */
  onAgentState(node: string): void {
    this.onTouched(node, this.keysOf(this.#parts.fleet.view(node)?.mountedVolumes ?? []));
  }

  /** The barrier has fewer nodes, or none. */
  onBarrier(): void {
    this.queue.addAll(this.#states.takeWaiting());
  }

  /** The node's view is about to be forgotten: its assumed or unstored ends may be the latest of a claim. */
  onForgotten(node: string): void {
    const { cluster, fleet } = this.#parts;
    const keys = new Set(this.keysOf(factsIn(fleet.view(node))));
    for (const claim of [...keys].flatMap((key) => cluster.claim(key) ?? [])) {
      const ends = shownEnds(this.#states.evidence(claim), this.#parts).filter((end) => end.node === node);
      this.#states.keepEnds(claim, ends);
    }
  }

  /** How many claims would be unused but for a pending node. */
  get blocked(): number {
    return this.#states.blocked;
  }

  /** The claim and all that its status depends on now; undefined for an unknown claim. A read: it changes nothing. */
  claimFacts(key: string): ClaimFacts | undefined {
    const claim = this.#states.newest(key);
    return claim && factsOf(this.#states.evidence(claim), this.#parts);
  }

  /** Settles what it finds, begins to wait for the nodes that it needs, and answers what has to be written. */
  #decide(key: string): ClaimWrite | undefined {
    const { agentStates, barrier, coverage, unstored } = this.#parts;
    this.#again(key, this.deletions.checkRemoved(key));
    const claim = this.#states.newest(key);
    if (claim === undefined) return undefined;
    // Pods may have been listed anew.
    coverage.join();
    const evidence = this.#states.settle(claim);
    // Also where a bug ends the decision: the ends are settled, and the next leader has to know of them.
    if (this.#states.isOpen(claim)) unstored.note(claim, undefined);
    const facts = factsOf(evidence, this.#parts);
    const { isEligible, pendingNodes } = facts;
    for (const { node } of pendingNodes) {
      if (node === UNWATCHED) barrier.onUnwatched();
      else agentStates.lookFor(node);
    }
    this.#states.noteWaiting(key, facts);
    const decision = { claim, isEligible, desired: statusOf(decide(facts), claim.status) };
    this.#again(key, this.deletions.compare(evidence));
    this.#again(key, this.unusedWhileMounted.compare(decision));
    const write = writeFor(decision);
    if (write?.isNews) unstored.note(claim, write.status);
    else if (isEligible && !this.#states.isOpen(claim)) unstored.settle(claim);
    return write;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const write = this.#decide(key);
    if (write === undefined) return this.#parts.cluster.claim(key) ? this.writer.rest(key) : this.writer.forget(key);
    this.#again(key, await this.writer.bring(write, signal));
  }

  #again(key: string, ms: number | undefined): void {
    if (ms !== undefined) this.queue.addAfter(key, ms);
  }
}
