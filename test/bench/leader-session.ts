import { LeaderSession } from "../../aggregator/leader/leader-session.ts";
import { createMeasures } from "../../aggregator/metrics/measures.ts";
import { readAggregatorCommand } from "../../aggregator/settings/config.ts";
import type { WriteResult } from "../../aggregator/sinks/writers.ts";
import { UnstoredClaims } from "../../aggregator/writing/unstored-claims.ts";
import { createKubeClient } from "../../common/kube/client.ts";
import { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { createFakeClock, settle } from "../fakes/clock.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { createFixedRandom } from "../fakes/random.ts";
import { createFakeConnection, createFakeTransport } from "../fakes/transport.ts";
import type { FakeCluster } from "./fake-cluster.ts";

/** A leader session in a fake cluster that stores and shows writes at once: its figures contain only its own work. */
export async function lead(cluster: FakeCluster) {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const serverTime = () => ({ latestMs: clock.wallMs(), widthMs: 40 });
  const connection = createFakeConnection(createFakeTransport(() => "silence"));
  const written = async (claim: Claim): Promise<WriteResult> => ({ kind: "written", claim });
  const apply = async (claim: Claim, status: Claim["status"]): Promise<WriteResult> => {
    const next = { ...claim, status, resourceVersion: String(Number(claim.resourceVersion) + 1) };
    cluster.byKey.set(claim.key, next);
    return { kind: "written", claim: next };
  };
  const stop = new AbortController();
  const session = new LeaderSession(
    {
      signal: stop.signal,
      ...{ clock, logger, cluster, random: createFixedRandom(0.5) },
      client: { ...createKubeClient(connection, { clock }), serverTime },
      writing: {
        writer: { apply, clean: written },
        volumeWriter: async () => ({ kind: "written" }),
        warnings: { warn: () => {} },
      },
      coverage: { history: undefined, settle: () => {}, join: () => {} },
      unstored: new UnstoredClaims(cluster),
      ends: { of: () => [], isIncluded: () => false, isOpen: () => false },
      internalErrors: new InternalErrors(logger),
      measures: createMeasures(createMetrics()),
      nowMs: clock.wallMs,
    },
    defaults(),
  );
  const running = session.run(stop.signal);
  await settle();
  return {
    session,
    stop: async (): Promise<void> => {
      stop.abort();
      await running;
    },
  };
}

function defaults() {
  const command = readAggregatorCommand({ argv: [], env: {} });
  if (command.kind !== "run") throw new Error("the flags ask for help");
  return command.config;
}
