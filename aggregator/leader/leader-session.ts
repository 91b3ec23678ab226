import { runAll, runTogether } from "../../common/runtime/lifecycle.ts";
import type { Steps } from "../../common/runtime/steps.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { NodeMessage, ReportAnswer } from "../../common/storage/node-report.ts";
import { ReadApi } from "../api/read-api.ts";
import { ClaimController } from "../claims/controller.ts";
import { bindLatency } from "../core/claims/binding.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import { newUnmounts } from "../core/volumes/use.ts";
import type { Measures } from "../metrics/measures.ts";
import { AgentStates } from "../nodes/agent-states.ts";
import { type FleetChange, FleetState } from "../nodes/fleet-state.ts";
import { Barrier } from "../pod-watch/barrier.ts";
import type { EndedPods } from "../pod-watch/ended-pods.ts";
import { GapAnswers } from "../pod-watch/gap-answers.ts";
import type { AggregatorConfig } from "../settings/config.ts";
import type { SharedParts } from "../sources/cluster.ts";
import { NOT_LEADING, type ReportOutcome, WHOLE } from "../sources/report-server.ts";
import { VolumeReconciler } from "../volumes/volume-reconciler.ts";
import type { StatusWriting } from "../writing/status-writing.ts";
import type { UnstoredClaims } from "../writing/unstored-claims.ts";
import type { Leadership } from "./leadership.ts";

interface LeaderSessionParts extends SharedParts {
  readonly writing: Pick<StatusWriting, "writer" | "volumeWriter" | "warnings">;
  readonly coverage: Leadership["coverage"];
  readonly unstored: UnstoredClaims;
  readonly ends: Pick<EndedPods, "of" | "isOpen" | "isIncluded">;
  readonly measures: Measures;
  readonly signal: AbortSignal;
}

/** Nodes that answer within this time release the claims that wait for them together. Milliseconds. */
const CHECK_MS = 500;

type Refused = Exclude<FleetChange, { readonly kind: "accepted" }>;

/** One session of a leader. It begins with the API's objects and undecided ended pods. Nothing of it outlives it. */
export class LeaderSession {
  /** Agents name it in their reports. */
  readonly session: string;
  readonly fleet: FleetState;
  readonly agentStates: AgentStates;
  readonly claims: ClaimController;
  readonly volumes: VolumeReconciler;
  readonly api: ReadApi;
  readonly #gap: GapAnswers;
  readonly #parts: LeaderSessionParts;
  readonly #barrier: Barrier;
  /** Nodes whose last report was too large. */
  readonly #refused = new Set<string>();

  constructor(parts: LeaderSessionParts, config: AggregatorConfig) {
    this.#parts = parts;
    this.session = parts.random.id();
    this.fleet = new FleetState(parts.clock);
    const { fleet, session } = this;
    const onChange = (node: string): void => {
      this.claims.onAgentState(node);
      this.volumes.onAgentState(node);
    };
    const onForgotten = (node: string): void => this.claims.onForgotten(node);
    const agentStates = new AgentStates({ ...parts, fleet, onChange, onForgotten }, config);
    this.agentStates = agentStates;
    const onMoved = (): void => this.claims.onBarrier();
    const barrier = new Barrier({ ...parts, agentStates, onMoved }, { ...config, session });
    this.#barrier = barrier;
    const nodes = {
      agentStateOf: (node: string) => agentStates.lookFor(node).kind,
      viewOf: (node: string) => fleet.view(node),
    };
    this.#gap = new GapAnswers({ ...parts, ...nodes, onChange: () => this.claims.enqueueAll() }, config);
    const { protection } = config;
    const shared = { ...parts, ...parts.writing, fleet, barrier, agentStates, protection };
    const unobservedOf: GapAnswers["unobservedOf"] = (volume) => this.#gap.unobservedOf(volume);
    this.claims = new ClaimController({ ...shared, unobservedOf }, config);
    this.volumes = new VolumeReconciler(shared);
    this.api = new ReadApi({
      ...shared,
      claimFacts: (key) => this.claims.claimFacts(key),
      unreported: () => this.unreported.length,
      isDeletionHeld: (claim) => this.claims.deletions.isHeld(claim),
    });
  }

  /** Nodes that are expected to report and have not since leading began. */
  get unreported(): readonly string[] {
    return this.#barrier.nodes().filter((node) => this.fleet.view(node) === undefined);
  }

  /** Works until it is over. Everything has been listed. */
  async run(signal: AbortSignal): Promise<void> {
    // From now on a missing report counts.
    this.#barrier.begin(this.agentStates.expected());
    this.#parts.logger.info({ nodes: this.unreported.length }, "cluster listed, waiting for the nodes' reports");
    const { claims, volumes, agentStates } = this;
    // Claims before anything waits: a hand-over must not take an empty queue for one whose claims are decided.
    const parts = [claims, volumes, agentStates].map((part) => (limited: AbortSignal) => part.run(limited));
    await runTogether([...parts, (limited) => this.#checkAnswers(limited)], signal);
  }

  async #checkAnswers(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#barrier.check();
      this.#gap.check();
      await this.#parts.clock.sleep(CHECK_MS, signal);
    }
  }

  /** Pods were listed anew: what came and went meanwhile went unobserved. */
  onPodsListed(): void {
    this.#barrier.begin(this.agentStates.expected());
  }

  onClaim(key: string): void {
    this.claims.queue.add(key);
    this.volumes.onClaim(key);
  }

  onClaimGone(claim: Claim): void {
    this.claims.onClaimGone(claim);
    this.volumes.onClaimGone(claim);
  }

  /** The watch showed the bind: for earlier binds the time is unknown. */
  onClaimBound(claim: Claim): void {
    const { cluster, measures, nowMs } = this.#parts;
    const latency = bindLatency(claim, { ...cluster, ...cluster.storage }, nowMs());
    if (latency !== undefined) measures.bound(latency);
  }

  /** Takes a report in steps: that of a full node would hold the event loop for too long. */
  *onReport(report: NodeMessage): Steps<ReportOutcome> {
    const { client, cluster } = this.#parts;
    const time = client.serverTime();
    // No replica leads without it.
    if (time === undefined) return NOT_LEADING;
    const isOfSession = report.session === this.session;
    // Without a session its agent has had no answer yet. What it sent to another leader may have been under way for long.
    if (report.session !== undefined && !isOfSession) return { kind: "unknown", answer: WHOLE };
    const nodeBootId = cluster.node(report.node)?.bootId;
    const receipt = { atMs: time.latestMs, widthMs: time.widthMs, nodeBootId, isOfSession };
    const change = yield* this.fleet.weigh(report, receipt);
    if (change.kind !== "accepted") return this.#refuse(report, change);
    yield;
    // Before anything is changed: a report that meets a bug is refused as a whole.
    const effects = {
      reach: this.claims.answers.versionToRequest(change.view),
      keys: this.claims.keysOf(change.touched),
      volumes: this.volumes.namesOf(change.touched),
      unmounts: change.touched.length === 0 ? [] : newUnmounts(change.known, change.view, cluster),
    };
    yield;
    this.fleet.take(change.view);
    this.#refused.delete(report.node);
    const { known, view } = change;
    if (known?.bootId === view.bootId && known.timeline !== view.timeline) {
      const fields = { node: report.node, rolledBackMs: Math.round(known.scan.endedAt - view.scan.endedAt) };
      this.#parts.logger.warn(fields, "node's boot clock went back, taken as it is now");
    }
    runAll([
      () => change.touched.length > 0 && this.api.onReport(change.view),
      () => this.#parts.measures.unmounted(effects.unmounts),
      () => this.agentStates.check(report.node),
      () => this.claims.onTouched(report.node, effects.keys),
      () => this.volumes.onVolumes(effects.volumes),
      () => this.#barrier.onReport(report.node, report.scanRequest),
    ]);
    yield;
    const { reach } = effects;
    return this.#answer(change.view, { ...(reach && { reach }), nowMs: time.latestMs - time.widthMs });
  }

  #answer(view: NodeView, rest: Pick<ReportAnswer, "reach" | "nowMs">): ReportOutcome {
    const scanRequest = this.#barrier.isPending(view.node) ? this.#barrier.question : undefined;
    const settled = this.claims.answers.settled(view);
    this.fleet.settle(view.node, settled);
    return { kind: "accepted", answer: { forget: [...settled], ...(scanRequest && { scanRequest }), ...rest } };
  }

  #refuse({ node }: NodeMessage, outcome: Refused): ReportOutcome {
    const fields = { node, ...("why" in outcome && { why: outcome.why }) };
    if (outcome.kind === "stale") this.#parts.logger.info(fields, "stale report dropped");
    if (outcome.kind !== "too-much") return { kind: outcome.kind, answer: WHOLE };
    // Unmount records of the node may have become settled meanwhile: that makes room for its next report.
    const view = this.fleet.view(node);
    const sentAt = (view?.sentAt ?? 0) + (this.fleet.lastReportAgeMs(node) ?? 0);
    if (view !== undefined) this.fleet.settle(node, this.claims.answers.settled({ ...view, sentAt }));
    if (!this.#refused.has(node)) this.#parts.logger.warn(fields, "report refused, it tells too much");
    this.#refused.add(node);
    return outcome;
  }
}
