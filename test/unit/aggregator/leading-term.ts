import { readAggregatorCommand } from "../../../aggregator/config.ts";
import type { CoverageGap } from "../../../aggregator/core/coverage.ts";
import type { AppliedStatus, WriteResult } from "../../../aggregator/sinks/claim-status-writer.ts";
import type { ReportOutcome } from "../../../aggregator/sources/report-server.ts";
import { Term } from "../../../aggregator/term.ts";
import type { SeenEnd } from "../../../aggregator/unsettled-ends.ts";
import { UnstoredClaims } from "../../../aggregator/writing/unstored-claims.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { InternalErrors } from "../../../common/runtime/internal-errors.ts";
import { finish } from "../../../common/runtime/steps.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeMessage } from "../../../common/storage/node-report.ts";
import { createFakeClock, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection, createFakeTransport } from "../../fakes/transport.ts";
import type { FakeCluster } from "./fake-cluster.ts";

/** By how much the API server's clock may show less than it does at the latest. */
export const WIDTH_MS = 40;

function config() {
  const command = readAggregatorCommand({ argv: ["--reason-delay", "0s"], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for help");
  return command.config;
}

/** A time of leading that began at noon in a cluster made by hand. */
export async function lead(
  cluster: FakeCluster,
  ends: readonly SeenEnd[] = [],
  { gaps = [], clock = createFakeClock() }: { readonly gaps?: readonly CoverageGap[]; readonly clock?: FakeClock } = {},
) {
  const statuses: ClaimStatus[] = [];
  const client = {
    ...createKubeClient(createFakeConnection(createFakeTransport(() => "silence")), { clock }),
    serverTime: () => ({ latestMs: clock.wallMs(), widthMs: WIDTH_MS }),
  };
  const writer = {
    apply: async (claim: Claim, { status }: AppliedStatus): Promise<WriteResult> => {
      statuses.push(status);
      const written = { ...claim, status, resourceVersion: String(Number(claim.resourceVersion) + 1) };
      cluster.byKey.set(claim.key, written);
      return { kind: "written", claim: written };
    },
    clean: async (claim: Claim): Promise<WriteResult> => ({ kind: "written", claim }),
    read: async (claim: Claim): Promise<WriteResult> => ({ kind: "written", claim }),
  };
  const logger = createFakeLogger();
  const writing = { writer, policy: () => "remove" as const, warnings: { tell: () => {} } } as const;
  const parts = { clock, random: createFixedRandom(0.5), logger, client, cluster, writing };
  const coverage = { gaps: () => gaps, settle: () => {}, join: () => {}, update: () => {} };
  const waiting: (readonly string[])[] = [];
  const onWaiting = (node: string, podUids: readonly string[]): void => void waiting.push([node, ...podUids]);
  const unstored = new UnstoredClaims({ claim: cluster.claim, claims: cluster.claims });
  const internalErrors = new InternalErrors(logger);
  const beside = { coverage, unstored, internalErrors, clusterUid: () => "uid", onWaiting, nowMs: clock.wallMs };
  const term = new Term({ ...parts, ...beside }, config());
  const stop = new AbortController();
  const running = term.run(ends, stop.signal);
  await settle();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { term, internalErrors, clock, statuses, logger, waiting, stop: end };
}

/** A report is taken without a pause. */
export function tell(term: Term, report: NodeMessage): ReportOutcome {
  return finish(term.onReport(report));
}
