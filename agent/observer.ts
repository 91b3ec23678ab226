import type { Informer } from "../common/kube/informer.ts";
import type { MountInfoSource } from "../common/mounts/mount-info-file.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { MooringError, messageOf } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import type { ReportAnswer } from "../common/storage/node-report.ts";
import type { MountScan, RootRule } from "./core/mounted-volumes.ts";
import {
  type Anomaly,
  type Decision,
  dated,
  forget,
  initialState,
  loseCoverage,
  type NodeState,
  type PodFacts,
  shownMountedVolumes,
} from "./core/node-state.ts";
import { extendCoverage, observe } from "./core/observe.ts";
import { interpretStored, mergeStored } from "./core/restore.ts";
import type { ScanCost } from "./core/scan-pace.ts";
import { MountMetrics } from "./mount-metrics.ts";
import { ObservationLog } from "./observation-log.ts";
import type { Journal } from "./sinks/journal.ts";
import type { MountNotifier } from "./sources/mount-notifier.ts";
import { scanConfirmed } from "./sources/mount-table.ts";
import type { NodePod } from "./sources/node-pods.ts";

interface ObserverParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly mountInfo: MountInfoSource;
  readonly mountNotifier: MountNotifier;
  readonly journal: Journal;
  readonly pods: Informer<NodePod>;
  readonly onAnomaly: (anomaly: Anomaly) => void;
}

interface ObserverIdentity {
  readonly rule: RootRule;
  readonly bootId: string;
  /** This run of the agent. */
  readonly run: string;
}

/** After so long without a complete scan the agent is not ready, and Stale for the aggregator. Milliseconds. */
const STALE_AFTER_MS = 180_000;

/** After so long without an answer earlier scans cannot be dated well; later ones can. Milliseconds. */
const LONG_UNANSWERED_MS = 120_000;

/** Keeps the state of the node: scans, decides, stores, and logs what changed. */
export class Observer {
  readonly #parts: ObserverParts;
  readonly #rule: RootRule;
  readonly #metrics: MountMetrics;
  readonly #log: ObservationLog;
  #state: NodeState;
  /** The newest state that is stored, or known while there is no journal. */
  #reportable: NodeState;
  #isJournalLoaded = false;
  #hasHadJournal = false;
  /** There are mounted volumes that an earlier run saw and this one has not: an unchanged table says nothing about them. */
  #hasUnconfirmed = false;
  #journalProblem: string | undefined;
  #incompleteReason: string | undefined = "the mount table has not been read yet";
  #lastScans: readonly ScanCost[] = [];
  /** The last scan that the aggregator requested. */
  #scanRequest: string | undefined;

  constructor(parts: ObserverParts, { rule, bootId, run }: ObserverIdentity) {
    this.#parts = parts;
    this.#rule = rule;
    this.#state = initialState(bootId, { run, clock: parts.clock.rate.source });
    this.#reportable = this.#state;
    this.#metrics = new MountMetrics(parts, () => this.#state);
    this.#log = new ObservationLog(parts);
  }

  get state(): NodeState {
    return this.#state;
  }

  /** What may be reported: nothing that a restart would silently forget. */
  get reportable(): NodeState {
    return this.#reportable;
  }

  /** Why there is no journal now; undefined when there is one. */
  get journalProblem(): string | undefined {
    return this.#journalProblem;
  }

  /** Why absence does not count now; undefined when it does. */
  get incompleteReason(): string | undefined {
    return this.#incompleteReason;
  }

  /** How long the last scans took, the latest last. */
  get lastScans(): readonly ScanCost[] {
    return this.#lastScans;
  }

  /** True when the state has been uncertain for so long that the node has to become Stale. */
  isStale(): boolean {
    const { scan, coverage } = this.#state;
    return coverage === "none" || scan === undefined || this.#now() - scan.endedAt >= STALE_AFTER_MS;
  }

  async restore(): Promise<void> {
    await this.#withJournal(async () => {});
  }

  async #store(): Promise<void> {
    let state = this.#state;
    await this.#withJournal(async (journal) => {
      state = this.#state;
      await journal.store(state);
      if (this.#journalProblem !== undefined) this.#parts.logger.info({}, "journal is used again");
      this.#journalProblem = undefined;
    });
    this.#reportable = state;
  }

  /** After any failure the journal is loaded again before it is used: another run may have had it meanwhile. */
  async #withJournal(work: (journal: Journal) => Promise<void>): Promise<void> {
    const { journal, logger } = this.#parts;
    try {
      if (!this.#isJournalLoaded) this.#mergeJournal(await journal.load());
      this.#isJournalLoaded = true;
      await work(journal);
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      this.#isJournalLoaded = false;
      const why = messageOf(error);
      if (why !== this.#journalProblem)
        logger.warn({ why }, "journal cannot be used, what a restart forgets will be a gap");
      this.#journalProblem = why;
    }
  }

  #mergeJournal(stored: NodeState | undefined): void {
    // A run that has had a journal before has lost it: it is not the first.
    if (!this.#hasHadJournal && this.#parts.journal.isNew?.()) this.#state = { ...this.#state, isFirstBoot: true };
    this.#hasHadJournal = true;
    if (stored === undefined || stored.run === this.#state.run) return;
    const { kind, past } = interpretStored(stored, { ...this.#state, nowMs: this.#now() });
    const fields = {
      kind,
      run: stored.run,
      mountedVolumes: past.mountedVolumes.size,
      unmountRecords: past.unmountRecords.length,
    };
    const isDated = kind === "same-boot" || kind === "other-boot";
    if (isDated) this.#parts.logger.info(fields, "journal of an earlier run found");
    else this.#parts.logger.warn(fields, "journal of an earlier run found, but its times do not count");
    this.#state = mergeStored(this.#state, past);
    this.#hasUnconfirmed = true;
    // What it adds has to be scanned and reported at once.
    this.#parts.mountNotifier.request();
  }

  /** The aggregator's answer to a report. */
  onAnswer({ forget: unmountRecordIds, nowMs, scanRequest }: ReportAnswer): void {
    if (scanRequest !== undefined) {
      this.#scanRequest = scanRequest;
      this.#parts.mountNotifier.request();
    }
    const kept = this.#state.unmountRecords.length;
    this.#state = forget(this.#state, unmountRecordIds);
    this.#metrics.acknowledged(kept - this.#state.unmountRecords.length);
    if (nowMs === undefined) return;
    const [at, last] = [this.#now(), this.#state.clockSamples.at(-1)];
    this.#state = dated(this.#state, { at, ms: nowMs });
    if (last === undefined || at - last.at > LONG_UNANSWERED_MS) this.#parts.mountNotifier.request();
  }

  /** One scan of the node: read, decide, store. Answers what changed; undefined when the table could not be read. */
  async scan(): Promise<readonly Decision[] | undefined> {
    const { mountInfo, pods, mountNotifier } = this.#parts;
    // Taken before the scan begins: only then does the scan come after everything up to this resource version, and after each pod's end.
    const known = {
      podsResourceVersion: pods.resourceVersion(),
      scanRequest: this.#scanRequest,
      pods: this.#podFacts(),
    };
    const { clock } = this.#parts;
    const [begunAt, workedBefore] = [this.#now(), clock.processorMs()];
    let scan: MountScan | undefined;
    try {
      const unchanged = mountNotifier.unchanged();
      if (unchanged !== undefined && !this.#hasUnconfirmed) this.#state = extendCoverage(this.#state, unchanged);
      scan = await scanConfirmed(mountInfo, this.#state, this.#rule);
      const { state, decisions } = observe(this.#state, { ...known, scan, unchanged });
      this.#state = state;
      this.#noteCompleteness(scan.incomplete);
      if (scan.incomplete === undefined) this.#hasUnconfirmed = false;
      this.#metrics.decided(decisions);
      await this.#store();
      for (const decision of decisions) this.#log.record(decision);
      this.#log.recordLeaks(this.#state, this.#now());
      return decisions;
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      this.#state = loseCoverage(this.#state);
      this.#noteCompleteness(messageOf(error));
      return undefined;
    } finally {
      const tookMs = this.#now() - begunAt;
      this.#lastScans = [...this.#lastScans, { tookMs, workedMs: clock.processorMs() - workedBefore }].slice(-2);
      this.#metrics.scanned(tookMs, scan);
    }
  }

  #now(): number {
    return this.#parts.clock.monotonicMs();
  }

  #podFacts(): ReadonlyMap<string, PodFacts> | undefined {
    const { pods } = this.#parts;
    if (!pods.hasSynced()) return undefined;
    return new Map(
      [...pods.all()].map(({ uid, key, resourceVersion, isRunning, isTerminal }) => [
        uid,
        { name: key, resourceVersion, isRunning, isOver: isTerminal },
      ]),
    );
  }

  #noteCompleteness(why: string | undefined): void {
    if (why === this.#incompleteReason) return;
    const { logger } = this.#parts;
    if (why !== undefined) logger.warn({ why }, "mount table cannot be believed, absence does not count");
    else logger.info({ mountedVolumes: shownMountedVolumes(this.#state) }, "mount table is read completely");
    this.#incompleteReason = why;
  }
}
