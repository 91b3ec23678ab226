import { describe, expect, it } from "vitest";
import { FactIndex } from "../../../aggregator/core/fact-index.ts";
import { idleStagings, NO_STAGINGS } from "../../../aggregator/core/idle-staging.ts";
import type { NodeUnmountRecord } from "../../../aggregator/core/node-view.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { Harness } from "./harness.ts";
import {
  claimWith,
  nodeMountedVolume,
  nodeUnmountRecord,
  nodeWith,
  reportWith,
  unmountRecordOf,
  viewWith,
  volumeWith,
} from "./world.ts";

/** How often pods are looked up while a report of so many ends of use of one claim is taken, and until the claim is written. */
async function lookUps(unmountRecords: number): Promise<number> {
  const harness = await new Harness({
    claims: [claimWith()],
    volumes: [volumeWith()],
    nodes: [nodeWith("n1")],
  }).start();
  let count = 0;
  const { podByUid } = harness.cluster;
  Object.assign(harness.cluster, {
    podByUid: (uid: string) => {
      count += 1;
      return podByUid.call(harness.cluster, uid);
    },
  });
  const told = Array.from({ length: unmountRecords }, (_, index) =>
    unmountRecordOf(`pod-${index}`, { after: 10, by: 20 + index / 100 }),
  );

  await harness.report(reportWith({ unmountRecords: told }));
  await harness.advance(10_000);
  await harness.stop();

  return count;
}

/** Unmount records that count how often somebody looks whose they are. */
function counted(length: number): {
  readonly unmountRecords: ReadonlyMap<string, NodeUnmountRecord>;
  readonly looks: () => number;
} {
  let looks = 0;
  const all = Array.from({ length }, (_, index) => {
    const volume = { by: "name", name: `pv-${index}` } as const;
    const unmountRecord = nodeUnmountRecord({ id: `release-${index}`, volume });
    return Object.defineProperty(unmountRecord, "volume", {
      get: () => {
        looks += 1;
        return volume;
      },
    });
  });
  return { unmountRecords: new Map(all.map((unmountRecord) => [unmountRecord.id, unmountRecord])), looks: () => looks };
}

describe("the work that a report makes", () => {
  it("grows with the ends of use of one claim that it tells, and not with their square", async () => {
    const [few, many] = [await lookUps(500), await lookUps(1_000)];

    expect(many / few).toBeLessThan(2.2);
  });

  it("is one look at each unmount record, however many claims ask for theirs", () => {
    const index = new FactIndex();
    const { unmountRecords, looks } = counted(1_000);
    const view = viewWith({ unmountRecords });
    const before = looks();

    const found = Array.from(
      { length: 1_000 },
      (_, at) => index.near(view, [{ by: "name", name: `pv-${at}` }]).unmountRecords,
    );

    expect(found.map(([unmountRecord]) => unmountRecord?.id)).toEqual([...unmountRecords.keys()]);
    expect(looks() - before).toBe(1_000);
  });

  it("is one look at each unmount record for all volumes that are staged", () => {
    const { unmountRecords, looks } = counted(1_000);
    const cluster = new FakeCluster();
    const staged = Array.from(
      { length: 500 },
      (_, at) => ({ ...nodeMountedVolume("", `pv-${at}`), kind: "staging", podUid: undefined }) as const,
    );
    for (let at = 0; at < 500; at += 1)
      cluster.volumes.set(`pv-${at}`, volumeWith({ key: `pv-${at}`, uid: `volume-${at}` }));
    const before = looks();

    const idle = idleStagings(NO_STAGINGS, viewWith({ mountedVolumes: staged, unmountRecords }), cluster);

    expect(idle.size).toBe(500);
    expect(looks() - before).toBe(1_000);
  });
});
