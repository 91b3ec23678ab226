import type { KubeClient } from "../common/kube/client.ts";
import { countEvents } from "../common/kube/event-metrics.ts";
import { createEventRecorder, type EventRecorder } from "../common/kube/events.ts";
import type { Informer } from "../common/kube/informer.ts";
import type { ByteTransport } from "../common/kube/transport.ts";
import { createMountInfoFile, type MountInfoSource } from "../common/mounts/mount-info-file.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Listen } from "../common/runtime/http-server.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import { logLevelRoutes } from "../common/runtime/log-level-route.ts";
import type { LevelControl, Logger } from "../common/runtime/logger.ts";
import type { Counter, Metrics } from "../common/runtime/metrics.ts";
import { type Health, observabilityRoutes } from "../common/runtime/observability.ts";
import { jitter, type Random } from "../common/runtime/random.ts";
import type { NodeFacts } from "../common/storage/node-facts.ts";
import { type NodeMessage, type ReportAnswer, reportPath } from "../common/storage/node-report.ts";
import { agentHealth } from "./agent-health.ts";
import { registerAgentMetrics, SCAN_TRIGGERS } from "./agent-metrics.ts";
import type { AgentConfig } from "./config.ts";
import { describeMountedVolumes } from "./core/debug-mounted-volumes.ts";
import { afterAnswer, NO_EXCHANGE } from "./core/exchange.ts";
import { type HeartbeatSchedule, nextHeartbeat } from "./core/heartbeat-schedule.ts";
import type { Anomaly, NodeState } from "./core/node-state.ts";
import { heartbeatOf, type ReporterIdentity, reportOf, reportProblem } from "./core/report.ts";
import { pauseBefore } from "./core/scan-pace.ts";
import { debugRoutes } from "./debug-routes.ts";
import { createEnforcement, type Enforcement } from "./enforcement/enforcement.ts";
import { Observer } from "./observer.ts";
import { createReportWay } from "./report-way.ts";
import { anomalyEvent } from "./sinks/anomaly-events.ts";
import { createMemoryJournal, type Journal } from "./sinks/journal.ts";
import { prepareJournalDirectory } from "./sinks/journal-directory.ts";
import { createReportSender, type ReportSender } from "./sinks/report-sender.ts";
import { createSqliteJournal } from "./sinks/sqlite-journal.ts";
import { createMountNotifier, type MountNotifier } from "./sources/mount-notifier.ts";
import { createNodeFacts, type NodeFactsSource } from "./sources/node-facts.ts";
import { createNodePods, type NodePod } from "./sources/node-pods.ts";

/** Everything that an agent needs from outside; a simulation replaces it. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Undefined where the log level cannot be changed. */
  readonly logLevel?: LevelControl;
  readonly metrics: Metrics;
  readonly listen: Listen;
  readonly client: KubeClient;
  readonly reportTransport: ByteTransport;
  readonly mountInfo: MountInfoSource;
  readonly mountNotifier: MountNotifier;
  readonly journal: Journal;
  readonly nodeFacts: NodeFactsSource;
  readonly bootId: string;
}

/** The ports of a real node, beside those that are the same everywhere. */
export function createAgentPorts(
  config: AgentConfig,
  ports: Omit<AgentPorts, "reportTransport" | "mountInfo" | "mountNotifier" | "journal" | "nodeFacts">,
): AgentPorts {
  const { journalDir, node } = config;
  return {
    ...ports,
    reportTransport: createReportWay(config, ports),
    mountInfo: createMountInfoFile(config.mountInfo, ports),
    mountNotifier: createMountNotifier(config.mountInfo, ports),
    journal:
      journalDir === undefined ? createMemoryJournal() : createSqliteJournal(ports, { directory: journalDir, node }),
    nodeFacts: createNodeFacts(config, ports),
  };
}

/** Prepares a node for an agent, with more permissions than the agent has. */
export function prepareNode(journalDir: string): void {
  prepareJournalDirectory(journalDir);
}

/** A scan that was damaged or failed is repeated after this time: until then no end of a use can be recorded. Milliseconds. */
const RETRY_MS = 1_000;

/** The node's facts are read so long after the start. Milliseconds. */
const FACTS_AFTER_MS = 2_000;

/** Runs an agent until the signal is aborted. Rejects only for a bug or when it cannot listen. */
export async function runAgent(config: AgentConfig, ports: AgentPorts, signal: AbortSignal): Promise<void> {
  const { logger, clock, metrics, listen } = ports;
  const { mode, close } = ports.mountNotifier;
  const agent = new Agent(config, ports);
  agent.registerMetrics();
  const isDraining = (): boolean => signal.aborted;
  const health = await listen(
    observabilityRoutes(metrics, { ...agent.health(), isDraining }),
    config.metricsAddress,
    logger,
  );
  const debug = await listen([...debugRoutes(agent.debug()), ...logLevelRoutes(ports)], config.debugAddress, logger);
  logger.info({ health: health.url, debug: debug.url, noticedBy: mode, clock: clock.rate.source }, "agent started");
  try {
    await runTogether(agent.tasks(), signal);
  } finally {
    await Promise.all([health.close(), debug.close()]);
    close();
    await ports.journal.close?.();
    logger.info({}, "agent stopped");
  }
}

class Agent {
  readonly #config: AgentConfig;
  readonly #ports: AgentPorts;
  readonly #identity: Omit<ReporterIdentity, "session">;
  readonly #pods: Informer<NodePod>;
  readonly #sender: ReportSender;
  readonly #observer: Observer;
  readonly #events: EventRecorder;
  readonly #enforcement: Enforcement;
  #exchange = NO_EXCHANGE;
  #facts: NodeFacts | undefined;
  #problem: string | undefined;
  readonly #scanTriggers: Counter<"reason">;
  /** Turns of the loop that scans the mount table. */
  #scans = 0;

  constructor(config: AgentConfig, ports: AgentPorts) {
    this.#config = config;
    this.#ports = ports;
    const { node, podUid, kubeletRoot } = config;
    this.#identity = { node, podUid, instance: ports.random.id(), driftPpm: ports.clock.rate.driftPpm };
    this.#pods = createNodePods(ports, node, {
      onEnd: ports.mountNotifier.request,
      onChange: (change) => this.#enforcement.onPodChange(change),
    });
    const rule = { by: "own-pod", podUid, override: kubeletRoot } as const;
    this.#events = createEventRecorder(ports, {
      controller: "mooring.dev/agent",
      instance: node,
      outcomes: countEvents(ports.metrics),
    });
    const onAnomaly = (anomaly: Anomaly): void => this.#emitEvent(anomaly);
    this.#observer = new Observer(
      { ...ports, pods: this.#pods, onAnomaly },
      { rule, bootId: ports.bootId, run: this.#identity.instance },
    );
    const nodeState = (): NodeState => this.#observer.state;
    this.#enforcement = createEnforcement(
      { ...ports, pods: this.#pods, events: this.#events, nodeState, requestReport: ports.mountNotifier.request },
      { node, rule, config: config.affinity },
    );
    const reports = ports.metrics.counter({
      name: "mooring_reports_sent_total",
      help: "Attempts to send a report, by outcome: accepted, or the error code.",
      labels: ["outcome"],
      known: [{ outcome: "accepted" }],
    });
    this.#scanTriggers = ports.metrics.counter({
      name: "mooring_mount_table_scan_triggers_total",
      help: "Scans of the mount table by trigger: it changed, a request, or the timer.",
      labels: ["reason"],
      known: SCAN_TRIGGERS.map((reason) => ({ reason })),
    });
    this.#sender = createReportSender(
      { ...ports, transport: ports.reportTransport, reports },
      {
        // The aggregator may have a path in front, behind a gateway.
        path: reportPath(new URL(config.aggregatorUrl).pathname.replace(/(?<!\/)\/+$/, ""), node),
        onAnswer: (answer, sent) => {
          this.#noteAnswer(answer, sent);
          this.#observer.onAnswer(answer);
          this.#enforcement.onAnswer(answer);
          if (answer.reach !== undefined) this.#pods.ensureAtLeast(answer.reach);
        },
      },
    );
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const watch = async (signal: AbortSignal): Promise<void> => {
      await Promise.all([this.#watch(signal), this.#readFacts(signal)]);
    };
    return [watch, this.#pods.run, this.#sender.run, this.#events.run, ...this.#enforcement.tasks];
  }

  /** The facts decide nothing, so they wait until the first scan, which matters more, is done. */
  async #readFacts(signal: AbortSignal): Promise<void> {
    const { clock, logger, nodeFacts } = this.#ports;
    await clock.sleep(FACTS_AFTER_MS, signal);
    if (signal.aborted) return;
    const { facts, bootId, bootedAt } = await nodeFacts.read(signal);
    this.#facts = facts;
    logger.info({ ...facts, bootId, bootedAt }, "node looked at");
  }

  /** The checks of `/livez` and `/readyz`. */
  health(): Pick<Health, "live" | "ready"> {
    const observer = this.#observer;
    return agentHealth(
      { ...this.#ports, observer, pods: this.#pods, sender: this.#sender, enforcement: this.#enforcement },
      { heartbeatMs: this.#config.heartbeatMs, scans: () => this.#scans, problem: () => this.#problem },
    );
  }

  /** The metrics of the wiring; the parts register their own. */
  registerMetrics(): void {
    registerAgentMetrics({ ...this.#ports, pods: this.#pods, sender: this.#sender });
  }

  #emitEvent(anomaly: Anomaly): void {
    const { client, clock } = this.#ports;
    const nowMs = client.serverTime()?.latestMs ?? clock.wallMs();
    const event = anomalyEvent(anomaly, { node: this.#config.node, nowMs });
    if (event !== undefined) this.#events.emit(event);
  }

  /** What is known, for people who look for a leak, or a pod that does not start, on this node. */
  debug(): Readonly<Record<string, () => object>> {
    return {
      "mounted-volumes": () => describeMountedVolumes(this.#observer.state, this.#ports.clock.monotonicMs()),
      verdicts: this.#enforcement.describe,
    };
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, random, mountNotifier } = this.#ports;
    const observer = this.#observer;
    await observer.restore();
    // The request is for a complete scan, so it stays until there is one.
    let isScanRequested = true;
    const { heartbeatMs } = this.#config;
    const rule = { heartbeatMs, spread: (waitMs: number) => jitter(random, waitMs, 0.2) };
    let schedule: HeartbeatSchedule = { atMs: 0, waitMs: heartbeatMs };
    while (!signal.aborted) {
      this.#scans += 1;
      const decisions = await observer.scan();
      const isComplete = decisions !== undefined && observer.incompleteReason === undefined;
      // Apart from the changes: a node on which mounts change all the time must send heartbeats, too.
      const isHeartbeat = clock.monotonicMs() >= schedule.atMs;
      const hasNews = (decisions?.length ?? 0) > 0;
      // A node's other mounts change all the time: they are scanned, but only changes, answers and heartbeats are sent.
      if (isHeartbeat || (isScanRequested && isComplete) || hasNews) this.#report();
      const isWaiting = observer.reportable.unmountRecords.length > 0;
      schedule = nextHeartbeat(schedule, { nowMs: clock.monotonicMs(), hasNews, isWaiting }, rule);
      const restMs = Math.max(0, schedule.atMs - clock.monotonicMs());
      const reason = await mountNotifier.wait(isComplete ? restMs : Math.min(restMs, RETRY_MS), signal);
      this.#scanTriggers.increment({ reason });
      isScanRequested = reason === "asked" || !isComplete;
      if (reason !== "timer") await clock.sleep(pauseBefore(observer.lastScans, this.#config.debounceMs), signal);
      isScanRequested = mountNotifier.takeRequest() || isScanRequested;
    }
    // The next run continues from here: without this scan its gap would begin up to a heartbeat earlier.
    if (this.#ports.journal.place !== undefined) await observer.scan();
  }

  #report(): void {
    // A node that has been blind for long has to become Stale: its old state must not stay alive.
    if (this.#observer.isStale() || this.#isTooLarge()) return;
    this.#sender.submit(() => {
      const report = reportOf(
        { ...this.#identity, session: this.#exchange.session, facts: this.#facts },
        this.#observer.reportable,
        this.#ports.clock.monotonicMs(),
      );
      return report?.generation === this.#exchange.acceptedGeneration && report !== undefined
        ? heartbeatOf(report)
        : report;
    });
  }

  #isTooLarge(): boolean {
    const problem = reportProblem(this.#observer.reportable);
    if (problem !== undefined && problem !== this.#problem)
      this.#ports.logger.error({ why: problem }, "state cannot be reported");
    this.#problem = problem;
    return problem !== undefined;
  }

  #noteAnswer(answer: ReportAnswer, sent: NodeMessage): void {
    const { isWholeDue, ...exchange } = afterAnswer(this.#exchange, answer, sent);
    this.#exchange = exchange;
    if (isWholeDue) this.#report();
  }
}
