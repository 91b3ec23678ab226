import { HarnessError } from "../../rig/process/errors.ts";
import { type Delivery, watchDelivery } from "../agents.ts";
import { makeClaim, volumeOf } from "../scenarios/claims.ts";
import { untilMounted } from "../scenarios/failures/conditions.ts";
import { endOfUse } from "../scenarios/last-use.ts";
import { deletePod, type MadePod, runPod } from "../scenarios/pods.ts";
import type { Truth } from "../scenarios/scenario.ts";
import { NODES, type NodeName, type Stage } from "../scenarios/stage.ts";
import { judge, PUBLISHED_LIMIT_MS, type Verdict } from "../scenarios/verdict.ts";

/** So many uses that were there before end during the change-over, one after the other. */
const ENDS = 8;
const EVERY_MS = 5_000;

/** What is done to a running installation. */
export interface Change {
  /** Names claims and pods. */
  readonly name: string;
  /** Begins it, and returns when it goes on by itself. */
  readonly begin: () => Promise<unknown>;
  /** Resolves when it is over. */
  readonly over: () => Promise<unknown>;
}

/** How it went. */
export interface ChangeOver extends Delivery {
  readonly tookMs: number;
  /** What is wrong in what was said of claims, each a sentence. */
  readonly faults: readonly string[];
  /** By how much the time that was said of each use that ended meanwhile is later than the true end, milliseconds. */
  readonly lateMs: readonly number[];
}

interface Use {
  readonly claim: string;
  readonly pod: MadePod;
}

/**
 * Changes an installation while uses of volumes end and others begin and end, and measures what it says of them by what the kernel told,
 * and what became of the agents' reports. Uses go on for some time after a change that is over sooner.
 */
export async function changeOver(stage: Stage, { name, begin, over }: Change): Promise<ChangeOver> {
  const { clock, signal } = stage.owner;
  const [before, within] = await Promise.all([usesBefore(stage, name), claimsFor(stage, `${name}-within`)]);
  const watching = new AbortController();
  const watched = watchDelivery(stage, AbortSignal.any([signal, watching.signal]));
  try {
    const begunMs = clock.monotonicMs();
    await begin();
    const [times, ends, more] = await Promise.all([
      over().then(() => ({ tookMs: clock.monotonicMs() - begunMs, outageUntilMs: clock.wallMs() })),
      endOneByOne(stage, before),
      Promise.all(within.map((claim, index) => useShortly(stage, claim, NODES[index] ?? "node-1"))),
    ]);
    const judged = await Promise.all(
      [...ends, ...more].map((end) => judgeEnd(stage, { ...end, outageUntilMs: times.outageUntilMs })),
    );
    watching.abort();
    return {
      ...(await watched),
      tookMs: times.tookMs,
      faults: judged.flatMap(({ faults }) => faults),
      lateMs: judged.map(({ lateMs }) => lateMs),
    };
  } finally {
    watching.abort();
    await watched;
  }
}

/** A claim on each node. */
async function claimsFor(stage: Stage, name: string): Promise<readonly string[]> {
  return await Promise.all(
    NODES.map(async (node) => {
      const claim = `${name}-${node}`;
      await makeClaim(stage, claim, { kind: "local", node });
      return claim;
    }),
  );
}

async function usesBefore(stage: Stage, name: string): Promise<readonly Use[]> {
  return await Promise.all(
    Array.from({ length: ENDS }, async (_, index): Promise<Use> => {
      const [claim, node] = [`${name}-${index}`, NODES[index % NODES.length] ?? "node-1"];
      await makeClaim(stage, claim, { kind: "local", node });
      const pod = await runPod(stage, { name: claim, node, claim });
      await untilMounted(stage, claim);
      return { claim, pod };
    }),
  );
}

interface Ended {
  readonly claim: string;
  readonly truth: Truth;
  /** What may be said of it. */
  readonly reasons: readonly ("Unmounted" | "NoPodUsing")[];
}

async function endOneByOne(stage: Stage, uses: readonly Use[]): Promise<readonly Ended[]> {
  const { clock, signal } = stage.owner;
  const ended: Ended[] = [];
  for (const { claim, pod } of uses) {
    await deletePod(stage, pod);
    const [truth] = await Promise.all([endOfUse(stage, volumeOf(claim), [pod]), clock.sleep(EVERY_MS, signal)]);
    ended.push({ claim, truth, reasons: ["Unmounted"] });
  }
  return ended;
}

async function useShortly(stage: Stage, claim: string, node: NodeName): Promise<Ended> {
  const pod = await runPod(stage, { name: claim, node, claim });
  await deletePod(stage, pod);
  const truth = await endOfUse(stage, volumeOf(claim), [pod]);
  // It may be over before the next leader watches, and then nobody knows that it was the only one.
  return { claim, truth, reasons: ["Unmounted", "NoPodUsing"] };
}

/** Waits for what is to be said, and answers what is wrong with it all the same. */
async function judgeEnd(
  stage: Stage,
  { claim, truth, reasons, outageUntilMs }: Ended & { readonly outageUntilMs: number },
): Promise<{ readonly faults: readonly string[]; readonly lateMs: number }> {
  const verdicts = (): readonly Verdict[] => {
    const [states, { starvation }] = [stage.log.states(claim), stage];
    return reasons.map((reason) =>
      judge({
        expected: { reason, evidence: "any" },
        truth: { ...truth, outageUntilMs },
        states,
        starvation,
      }),
    );
  };
  const best = (): Verdict | undefined => verdicts().toSorted((a, b) => a.faults.length - b.faults.length)[0];
  const requireRight = (): void => {
    const faults = best()?.faults ?? [];
    if (faults.length > 0) throw new HarnessError(faults.join("; "));
  };
  await stage.until(`the right status of ${claim}`, requireRight, PUBLISHED_LIMIT_MS).catch(() => {});
  const { faults = [], final } = best() ?? {};
  return { faults: faults.map((fault) => `${claim}: ${fault}`), lateMs: final?.mooring?.errorMs ?? Number.NaN };
}
