import type { KubeClient } from "../common/kube/client.ts";
import type { Informer } from "../common/kube/informer.ts";
import type { ByteTransport } from "../common/kube/transport.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { MooringError, messageOf } from "../common/runtime/errors.ts";
import { type Checks, failed, PASSED } from "../common/runtime/health.ts";
import { listen } from "../common/runtime/http-server.ts";
import { runTogether } from "../common/runtime/lifecycle.ts";
import type { Logger } from "../common/runtime/logger.ts";
import { createMetrics, type Metrics } from "../common/runtime/metrics.ts";
import { observabilityRoutes } from "../common/runtime/observability.ts";
import { jitter, type Random } from "../common/runtime/random.ts";
import { volumeKey } from "../common/storage/volume-identity.ts";
import type { AgentConfig } from "./config.ts";
import type { RootRule } from "./core/holds.ts";
import { type Decision, forget, initialState, type NodeState, observe } from "./core/observe.ts";
import { type ReporterIdentity, reportOf } from "./core/report.ts";
import { createMemoryJournal, type Journal } from "./sinks/journal.ts";
import { createReportSender } from "./sinks/report-sender.ts";
import { createMountInfoFile, type MountInfoSource, readConfirmed } from "./sources/mount-table.ts";
import { createNodePods, type NodePod } from "./sources/node-pods.ts";
import { createWakeUp, type WakeUp } from "./sources/wake-up.ts";

/** Everything an agent touches the world through; a simulation replaces just these. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly client: KubeClient;
  readonly reportTransport: ByteTransport;
  readonly mountInfo: MountInfoSource;
  readonly wakeUp: WakeUp;
  readonly journal: Journal;
  readonly bootId: string;
}

/** The ports of a real node, beside those that are the same everywhere. */
export function createAgentPorts(
  config: AgentConfig,
  ports: Omit<AgentPorts, "mountInfo" | "wakeUp" | "journal">,
): AgentPorts {
  return {
    ...ports,
    mountInfo: createMountInfoFile(config.mountInfo, ports),
    wakeUp: createWakeUp(config.mountInfo, ports),
    journal: createMemoryJournal(),
  };
}

/** No complete read for this long means not ready, and silent to the aggregator. Milliseconds. */
const BLIND_AFTER_MS = 180_000;

/** A read that was damaged or failed is repeated after this time: until then no end of a use can be told. Milliseconds. */
const RETRY_MS = 1_000;

/** Runs an agent until the signal is aborted. Rejects only for a bug or when it cannot listen. */
export async function runAgent(config: AgentConfig, ports: AgentPorts, signal: AbortSignal): Promise<void> {
  const metrics = createMetrics();
  const agent = new Agent(config, ports, metrics);
  const checks = agent.checks();
  const server = await listen(observabilityRoutes(metrics, checks), config.listen, ports.logger);
  ports.logger.info({ health: server.url, wakeUp: ports.wakeUp.mode, clock: ports.clock.rate.source }, "agent started");
  try {
    await runTogether(agent.tasks(), signal);
  } finally {
    await server.close();
    ports.wakeUp.close();
    ports.logger.info({}, "agent stopped");
  }
}

class Agent {
  readonly #config: AgentConfig;
  readonly #ports: AgentPorts;
  readonly #identity: ReporterIdentity;
  readonly #rule: RootRule;
  readonly #pods: Informer<NodePod>;
  readonly #sender: ReturnType<typeof createReportSender>;
  readonly #reads: ReturnType<Metrics["histogram"]>;
  #state: NodeState;
  #blindSince: { readonly why: string } | undefined = { why: "the mount table has not been read yet" };
  #lastReadMs = 0;

  constructor(config: AgentConfig, ports: AgentPorts, metrics: Metrics) {
    this.#config = config;
    this.#ports = ports;
    const { node, podUid } = config;
    this.#identity = { node, podUid, instance: ports.random.id(), driftPpm: ports.clock.rate.driftPpm };
    this.#state = initialState(ports.bootId);
    this.#rule = { by: "own-pod", podUid: config.podUid, override: config.kubeletRoot };
    this.#pods = createNodePods(ports, config.node, ports.wakeUp.ask);
    const reports = metrics.counter({
      name: "mooring_reports_total",
      help: "Reports by outcome.",
      labels: ["outcome"],
    });
    this.#sender = createReportSender(
      { ...ports, transport: ports.reportTransport, reports },
      {
        // The aggregator may live below a path, behind a gateway.
        path: `${new URL(config.aggregatorUrl).pathname.replace(/\/+$/, "")}/v1/nodes/${encodeURIComponent(config.node)}/report`,
        onAnswer: (answer) => {
          this.#state = forget(this.#state, answer.forget);
          if (answer.reach !== undefined) this.#pods.reach(answer.reach);
        },
      },
    );
    this.#reads = metrics.histogram({
      name: "mooring_mount_table_read_seconds",
      help: "Time to read and parse the mount table.",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    });
    metrics.gauge({ name: "mooring_holds", help: "Volumes that the mount table shows." }, () => this.#state.holds.size);
    metrics.gauge(
      { name: "mooring_unacknowledged_releases", help: "Ends of use that the aggregator has not settled yet." },
      () => this.#state.releases.length,
    );
  }

  tasks(): readonly ((signal: AbortSignal) => Promise<void>)[] {
    return [(signal) => this.#watch(signal), this.#pods.run, this.#sender.run];
  }

  checks(): { readonly live: Checks; readonly ready: Checks } {
    return {
      live: { ping: () => PASSED },
      ready: {
        "mount-table": () => this.#mountTableCheck(),
        "pod-watch": () => (this.#pods.hasSynced() ? PASSED : failed("the pods of this node have not been listed yet")),
        reports: () => (this.#sender.acceptedAt() === undefined ? failed("no report has been accepted yet") : PASSED),
      },
    };
  }

  #mountTableCheck(): ReturnType<Checks[string]> {
    return this.#isBlind()
      ? failed(`no complete read of the mount table: ${this.#blindSince?.why ?? "too old"}`)
      : PASSED;
  }

  #isBlind(): boolean {
    const { read } = this.#state;
    return read === undefined || this.#ports.clock.monotonicMs() - read.endedAt >= BLIND_AFTER_MS;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, random, wakeUp } = this.#ports;
    await this.#restore();
    // What is asked for is a complete read: the question stays until there is one.
    let isAsked = true;
    let heartbeatAt = 0;
    while (!signal.aborted) {
      const decisions = await this.#look();
      const isComplete = decisions !== undefined && this.#blindSince === undefined;
      // Kept apart from the wake-ups: a node on which mounts change all the time must not fall silent.
      const isHeartbeat = clock.monotonicMs() >= heartbeatAt;
      // A node's other mounts come and go all the time: they are read, but only news, an answer or a heartbeat is sent.
      if (isHeartbeat || (isAsked && isComplete) || (decisions?.length ?? 0) > 0) this.#report();
      if (isHeartbeat) heartbeatAt = clock.monotonicMs() + jitter(random, this.#config.heartbeatMs, 0.2);
      const restMs = Math.max(0, heartbeatAt - clock.monotonicMs());
      const reason = await wakeUp.wait(isComplete ? restMs : Math.min(restMs, RETRY_MS), signal);
      isAsked = reason === "asked" || !isComplete;
      // A storm of mounts must not eat the node: wait ten times as long as the last read took, as systemd does.
      if (reason !== "timer") await clock.sleep(Math.max(this.#config.debounceMs, 10 * this.#lastReadMs), signal);
    }
  }

  async #restore(): Promise<void> {
    const stored = await this.#ports.journal.load();
    if (stored?.bootId === this.#ports.bootId) this.#state = stored;
  }

  /** One look at the node: read, decide, keep. What changed, or nothing when the table could not be read. */
  async #look(): Promise<readonly Decision[] | undefined> {
    const { mountInfo, journal, clock } = this.#ports;
    // Taken before the read begins: only then does the read follow everything up to this resource version.
    const podsResourceVersion = this.#pods.resourceVersion();
    const begunAt = clock.monotonicMs();
    try {
      const read = await readConfirmed(mountInfo, this.#state, this.#rule);
      const { state, decisions } = observe(this.#state, { read, podsResourceVersion, podNames: this.#podNames() });
      this.#noteBlindness(read.incomplete);
      this.#state = state;
      await journal.store(state);
      for (const decision of decisions) this.#log(decision);
      return decisions;
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      this.#noteBlindness(messageOf(error));
      return undefined;
    } finally {
      this.#lastReadMs = clock.monotonicMs() - begunAt;
      this.#reads.observe({}, this.#lastReadMs / 1000);
    }
  }

  #podNames(): ReadonlyMap<string, string> {
    return new Map([...this.#pods.all()].map(({ uid, key }) => [uid, key]));
  }

  #noteBlindness(why: string | undefined): void {
    if (why === this.#blindSince?.why) return;
    if (why !== undefined) this.#ports.logger.warn({ why }, "mount table cannot be believed, absence does not count");
    else this.#ports.logger.info({ holds: this.#state.holds.size }, "mount table is read completely");
    this.#blindSince = why === undefined ? undefined : { why };
  }

  #log(decision: Decision): void {
    if (decision.kind === "released") {
      const { volume, podUid, after, by } = decision.release;
      const widthMs = Math.round(by - after);
      this.#ports.logger.info({ volume: volumeKey(volume), podUid, widthMs }, "volume released");
      return;
    }
    const { kind, volume, podUid } = decision.hold;
    const message = decision.kind === "mounted" ? "volume mounted" : "volume unmounted";
    this.#ports.logger.info({ kind, volume: volumeKey(volume), podUid }, message);
  }

  #report(): void {
    // A node that has been blind for long is to count as silent, not to keep its last word alive.
    if (this.#isBlind()) return;
    this.#sender.submit(() => reportOf(this.#identity, this.#state, this.#ports.clock.monotonicMs()));
  }
}
