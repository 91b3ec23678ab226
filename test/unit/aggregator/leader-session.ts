import type { EndedPod, Volume } from "../../../aggregator/core/cluster-objects.ts";
import type { ProtectionMode } from "../../../aggregator/core/deletion.ts";
import { claimKeysOf } from "../../../aggregator/core/references.ts";
import type { WatchGap } from "../../../aggregator/core/watch-history.ts";
import { LeaderSession, type LeaderSessionParts } from "../../../aggregator/leader/leader-session.ts";
import { sessionListener } from "../../../aggregator/leader/session-listener.ts";
import { EndedPods } from "../../../aggregator/pod-watch/ended-pods.ts";
import { type AggregatorConfig, readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import type { AppliedStatus, WriteResult } from "../../../aggregator/sinks/claim-status-writer.ts";
import type { VolumeWriteResult, VolumeWriter } from "../../../aggregator/sinks/volume-writer.ts";
import type { ReportOutcome } from "../../../aggregator/sources/report-server.ts";
import { UnstoredClaims } from "../../../aggregator/writing/unstored-claims.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import type { ServerTime } from "../../../common/kube/server-clock.ts";
import { InternalErrors } from "../../../common/runtime/internal-errors.ts";
import type { Logger } from "../../../common/runtime/logger.ts";
import { finish } from "../../../common/runtime/steps.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import type { NodeMessage } from "../../../common/storage/node-report.ts";
import { NO_ANNOTATIONS, type VolumeAnnotations } from "../../../common/storage/volume-annotations.ts";
import { createFakeClock, type FakeClock, settle } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { createFixedRandom } from "../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeServer } from "../../fakes/transport.ts";
import type { FakeCluster } from "./fake-cluster.ts";

/** By how much the API server's clock may show less than it does at the latest. */
export const WIDTH_MS = 40;

interface LeadingOptions {
  readonly gap?: WatchGap;
  readonly clock?: FakeClock;
  readonly protection?: ProtectionMode;
}

/** What a session is made of; what is left out is as quiet as can be. */
interface LeadingParts extends Partial<Omit<LeaderSessionParts, "client" | "coverage" | "writing">> {
  readonly clock: FakeClock;
  readonly logger: Logger;
  readonly writing: Pick<LeaderSessionParts["writing"], "writer"> & Partial<LeaderSessionParts["writing"]>;
  readonly coverage: Partial<LeaderSessionParts["coverage"]>;
  readonly config: Partial<AggregatorConfig>;
  readonly serverTime?: () => ServerTime;
  /** What it asks the API server itself: kubelets' Leases. */
  readonly server?: FakeServer;
}

/** What became of a write of a volume, and whether the watch shows it. */
export interface VolumeAnswer {
  readonly result: VolumeWriteResult;
  readonly isShown: boolean;
}

/** The product's own session of a leader in a cluster made by hand, and what the watches tell it. It works from `begin` on. */
export function createLeading(
  cluster: FakeCluster,
  { config, coverage, writing, server = () => "silence", ...parts }: LeadingParts,
) {
  const { clock, logger, serverTime = () => ({ latestMs: clock.wallMs(), widthMs: WIDTH_MS }) } = parts;
  const client = { ...createKubeClient(createFakeConnection(createFakeTransport(server)), { clock }), serverTime };
  const ends = new EndedPods({ claim: cluster.claim, nowMs: () => serverTime().latestMs });
  const session = new LeaderSession(
    {
      ...{ client, cluster, random: createFixedRandom(0.5), clusterUid: () => "uid", onWaiting: () => {} },
      unstored: new UnstoredClaims(cluster),
      // What is decided is handed over at once.
      ends: { of: (key) => ends.of(key), isIncluded: (end, claim) => ends.isIncluded(end, claim), isOpen: () => false },
      internalErrors: new InternalErrors(logger),
      nowMs: () => serverTime().latestMs,
      ...parts,
      coverage: { gap: () => undefined, settle: () => {}, join: () => {}, update: () => {}, ...coverage },
      writing: {
        volumeWriter: async () => ({ kind: "written" }),
        policy: () => "remove",
        warnings: { tell: () => {} },
        ...writing,
      },
    },
    { ...DEFAULTS, ...config },
  );
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const listener = sessionListener(() => session);
  return {
    session,
    listener,
    onPodEnded: (end: EndedPod): void => {
      ends.note(end);
      for (const key of claimKeysOf(end.pod)) listener.onClaim(key);
    },
    /** With the pods whose ends were seen before. */
    begin: async (ended: readonly EndedPod[] = []): Promise<void> => {
      for (const end of ended) ends.note(end);
      running = session.run(stop.signal);
      await settle();
    },
    stop: async (): Promise<void> => {
      stop.abort();
      await running;
    },
  };
}

const DEFAULTS = defaults();

function defaults(): AggregatorConfig {
  const command = readAggregatorCommand({ argv: ["--reason-delay", "0s"], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for help");
  return command.config;
}

/** A session that began at noon in a cluster made by hand, whose writes are stored and shown at once. */
export async function lead(
  cluster: FakeCluster,
  ends: readonly EndedPod[] = [],
  { gap, clock = createFakeClock(), protection = "off" }: LeadingOptions = {},
) {
  const statuses: ClaimStatus[] = [];
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
  const internalErrors = new InternalErrors(logger);
  const waiting: (readonly string[])[] = [];
  const volumes = volumesOf(cluster, (name) => leading.listener.onVolume(name));
  const { volumeWriter, ...told } = volumes;
  const leading = createLeading(cluster, {
    ...{ clock, logger, internalErrors },
    writing: { writer, volumeWriter },
    coverage: { gap: () => gap },
    config: { protection },
    onWaiting: (node, podUids) => void waiting.push([node, ...podUids]),
  });
  await leading.begin(ends);
  return { ...leading, internalErrors, clock, statuses, logger, waiting, ...told };
}

/** Writes of volumes, and what they meet. */
function volumesOf(cluster: FakeCluster, onVolume: (name: string) => void) {
  const volumeWrites: Partial<VolumeAnnotations>[] = [];
  /** What the next writes of volumes meet; they are stored and shown once there are none left. */
  const volumeAnswers: VolumeAnswer[] = [];
  const showVolume = (volume: Volume & { readonly resourceVersion: string }): void => {
    cluster.volumes.set(volume.key, volume);
    onVolume(volume.key);
  };
  const volumeWriter: VolumeWriter = async (volume, changes) => {
    volumeWrites.push(changes);
    const { result, isShown } = volumeAnswers.shift() ?? { result: { kind: "written" }, isShown: true };
    const annotations = { ...(volume.annotations ?? NO_ANNOTATIONS), ...changes };
    const resourceVersion = String(Number(volume.resourceVersion) + 1);
    if (isShown) showVolume({ ...volume, annotations, resourceVersion });
    return result;
  };
  return { volumeWrites, volumeAnswers, showVolume, volumeWriter };
}

/** A report is taken without a pause. Unless it says otherwise, its scan began after whatever the leader has asked for. */
export function tell(session: LeaderSession, report: NodeMessage): ReportOutcome {
  return finish(session.onReport({ scanRequest: `${session.session}/1000000`, ...report }));
}
