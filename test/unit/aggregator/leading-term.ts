import { readAggregatorCommand } from "../../../aggregator/config.ts";
import type { Volume } from "../../../aggregator/core/cluster-objects.ts";
import type { CoverageGap } from "../../../aggregator/core/coverage.ts";
import type { AppliedStatus, WriteResult } from "../../../aggregator/sinks/claim-status-writer.ts";
import type { VolumeWriteResult, VolumeWriter } from "../../../aggregator/sinks/volume-writer.ts";
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
import { NO_ANNOTATIONS, type VolumeAnnotations } from "../../../common/storage/volume-annotations.ts";
import { createFakeClock, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection, createFakeTransport } from "../../fakes/transport.ts";
import type { FakeCluster } from "./fake-cluster.ts";

/** By how much the API server's clock may show less than it does at the latest. */
export const WIDTH_MS = 40;

function config(protection: string) {
  const argv = ["--reason-delay", "0s", "--protection", protection];
  const command = readAggregatorCommand({ argv, env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for help");
  return command.config;
}

interface LeadingOptions {
  readonly gaps?: readonly CoverageGap[];
  readonly clock?: FakeClock;
  readonly protection?: string;
}

/** What became of a write of a volume, and whether the watch shows it. */
export interface VolumeAnswer {
  readonly result: VolumeWriteResult;
  readonly isShown: boolean;
}

/** A time of leading that began at noon in a cluster made by hand. */
export async function lead(
  cluster: FakeCluster,
  ends: readonly SeenEnd[] = [],
  { gaps = [], clock = createFakeClock(), protection = "off" }: LeadingOptions = {},
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
  const volumeWrites: Partial<VolumeAnnotations>[] = [];
  /** What the next writes of volumes meet; they are stored and shown once there are none left. */
  const volumeAnswers: VolumeAnswer[] = [];
  const volumeWriter: VolumeWriter = async (volume, changes) => {
    volumeWrites.push(changes);
    const { result, isShown } = volumeAnswers.shift() ?? { result: { kind: "written" }, isShown: true };
    const annotations = { ...(volume.annotations ?? NO_ANNOTATIONS), ...changes };
    const resourceVersion = String(Number(volume.resourceVersion) + 1);
    if (isShown) showVolume({ ...volume, annotations, resourceVersion });
    return result;
  };
  const showVolume = (volume: Volume & { readonly resourceVersion: string }): void => {
    cluster.volumes.set(volume.key, volume);
    term.volumes.onVolume(volume.key);
  };
  const writing = { writer, volumeWriter, policy: () => "remove" as const, warnings: { tell: () => {} } } as const;
  const parts = { clock, random: createFixedRandom(0.5), logger, client, cluster, writing };
  const coverage = { gaps: () => gaps, settle: () => {}, join: () => {}, update: () => {} };
  const waiting: (readonly string[])[] = [];
  const onWaiting = (node: string, podUids: readonly string[]): void => void waiting.push([node, ...podUids]);
  const unstored = new UnstoredClaims({ claim: cluster.claim, claims: cluster.claims });
  const internalErrors = new InternalErrors(logger);
  const beside = { coverage, unstored, internalErrors, clusterUid: () => "uid", onWaiting, nowMs: clock.wallMs };
  const term = new Term({ ...parts, ...beside }, config(protection));
  const stop = new AbortController();
  const running = term.run(ends, stop.signal);
  await settle();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  const volumes = { volumeWrites, volumeAnswers, showVolume };
  return { term, internalErrors, clock, statuses, logger, waiting, ...volumes, stop: end };
}

/** A report is taken without a pause. */
export function tell(term: Term, report: NodeMessage): ReportOutcome {
  return finish(term.onReport(report));
}
