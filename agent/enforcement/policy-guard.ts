import { createBackOff } from "../../common/kube/back-off.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { jitter, type Random } from "../../common/runtime/random.ts";
import type { PolicyFinding, PolicyProbe } from "../sources/policy-probe.ts";

interface GuardParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly probe: PolicyProbe;
  /** Pods that were left alone may be rejected now. */
  readonly onInForce: () => void;
}

/**
 * After this time, a sleep of the machine included, the last observation is no basis for a rejection: the agent asks again, right before
 * it. Milliseconds.
 */
const FRESH_MS = 10_000;
/** The first question after the start. Milliseconds. */
const START_MS = 1_000;
/** How often the agent asks so that its health stays true. Milliseconds. */
const PROBE_EVERY_MS = 600_000;
/** A policy that was just installed is in force within about a second. */
const RETRY = { firstMs: 1_000, maxMs: 60_000 } as const;

const NOT_PROBED: PolicyFinding = { kind: "unknown", why: "it has not been asked yet" };

/**
 * Whether pods may be rejected: only while the policy is seen to be in force that confines this agent's account to that, on its own
 * node. Without the policy the permission to reject is one to change every pod of the cluster, and an agent does not use it.
 */
export class PolicyGuard {
  readonly #parts: GuardParts;
  #finding: PolicyFinding = NOT_PROBED;
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    parts.metrics.gauge(
      {
        name: "mooring_affinity_policy_in_force",
        help: "1 where the policy that confines the permission to reject pods was last seen in force, else 0: the agent then rejects none.",
      },
      () => (this.#finding === NOT_PROBED ? undefined : Number(this.#finding.kind === "in-force")),
    );
  }

  /** The last observation. */
  get finding(): PolicyFinding {
    return this.#finding;
  }

  /** Asks until the signal is aborted. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { clock, random } = this.#parts;
    const backOff = createBackOff(random, RETRY);
    // By then the pods of the node are listed, this agent's own among them.
    await clock.sleep(START_MS, signal);
    while (!signal.aborted) {
      const { kind } = await this.#probeNow(signal);
      if (kind === "in-force") backOff.reset();
      await clock.sleep(kind === "in-force" ? jitter(random, PROBE_EVERY_MS, 0.2) : backOff.next(undefined), signal);
    }
  };

  /** The state now, for a rejection that is about to be made. */
  async check(signal: AbortSignal): Promise<PolicyFinding> {
    const isFresh = this.#parts.clock.uptimeMs() - this.#seenAt <= FRESH_MS;
    return isFresh && this.#finding.kind === "in-force" ? this.#finding : await this.#probeNow(signal);
  }

  async #probeNow(signal: AbortSignal): Promise<PolicyFinding> {
    const { clock, probe, onInForce } = this.#parts;
    const seenAt = clock.uptimeMs();
    const finding = await probe(signal);
    // A question that the agent's end cut short says nothing.
    if (signal.aborted) return finding;
    const before = this.#finding;
    this.#finding = finding;
    this.#seenAt = seenAt;
    if (before === NOT_PROBED || before.kind !== finding.kind) this.#logChange(finding);
    if (finding.kind === "in-force" && before.kind !== "in-force") onInForce();
    return finding;
  }

  #logChange(finding: PolicyFinding): void {
    const { logger } = this.#parts;
    if (finding.kind === "in-force") logger.info({}, "policy is in force, pods may be rejected");
    else
      logger.warn(
        { finding: finding.kind, why: offReason(finding) },
        "policy is not known to be in force, no pod is rejected",
      );
  }
}

const SUMMARIES = {
  missing: "the policy is not in force",
  forbidden: "the account may not",
  unknown: "the policy is not known to be in force",
} as const;

/** Why no pod is rejected, for people; undefined while pods may be. */
export function offReason(finding: PolicyFinding): string | undefined {
  if (finding.kind === "in-force") return undefined;
  return `rejecting is off, ${SUMMARIES[finding.kind]}: ${finding.why}`;
}
