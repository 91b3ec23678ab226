import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { changesTo } from "../../../aggregator/core/volumes/annotations.ts";
import { type ClaimWarning, claimEvent } from "../../../aggregator/sinks/claim-events.ts";
import {
  type ClaimStatusWriter,
  createClaimStatusWriter,
  createVolumeWriter,
} from "../../../aggregator/sinks/writers.ts";
import { projectVolume } from "../../../aggregator/sources/projections.ts";
import { patchObject } from "../../../common/kube/apply.ts";
import { readConfigMap, writeConfigMap } from "../../../common/kube/config-map.ts";
import { createLeaseStore } from "../../../common/kube/lease.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
import { type Claim, projectClaim } from "../../../common/storage/claim.ts";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { NO_ANNOTATIONS, volumeMarkText } from "../../../common/storage/volume-annotations.ts";
import { patch } from "./attack.ts";
import { clientOf, emitAll, identity } from "./program.ts";
import type { AttackStage } from "./stage.ts";
import { SHOP } from "./victims.ts";

const { signal } = new AbortController();
const AGGREGATOR = { namespace: "mooring", name: "mooring-aggregator" } as const;

const AGENT = { namespace: "mooring-agents", name: "mooring-agent" } as const;

const VOLUME = "/api/v1/persistentvolumes/pv-data";
const LONG_MARK = volumeMarkText(
  "volume-1",
  Array.from({ length: 33 }, (_, i) => `${i}.${"n".repeat(240)}.example.com`),
);
const CLAIM = `${SHOP}/persistentvolumeclaims/data`;

async function readClaim(stage: AttackStage): Promise<Claim> {
  return projectClaim(await stage.api.get(CLAIM));
}

/** Its times are of the year 2099: whatever is from before the claim was made is not read back. */
const MOUNTED: ClaimStatus = {
  unused: false,
  reason: "Mounted",
  message: "mounted on node node-1",
  sinceMs: 4_102_000_000_000,
  mountedOn: { nodes: Array.from({ length: 32 }, (_, i) => `${i}.${"n".repeat(240)}.example.com`), more: true },
  lastUse: undefined,
};
const UNMOUNTED: ClaimStatus = {
  ...MOUNTED,
  unused: true,
  reason: "Unmounted",
  message: "m".repeat(3_000),
  sinceMs: 4_102_000_100_000,
  mountedOn: undefined,
  lastUse: {
    id: "r-1",
    node: "node-1",
    pod: "shop/web",
    podUid: "u",
    byMs: 4_102_000_100_000,
    widthMs: 3,
    evidence: "mount-table",
  },
  gap: { fromMs: 4_102_000_000_000, toMs: 4_102_000_050_000 },
};

async function writerOf(stage: AttackStage): Promise<ClaimStatusWriter> {
  return createClaimStatusWriter({
    client: await clientOf(stage, AGGREGATOR),
    clock: stage.owner.clock,
    metrics: createMetrics(),
  });
}

/** What the aggregator does must be allowed; each row is something that it does. */
export function describeAggregator(stage: () => AttackStage): void {
  describe("the aggregator writes", () => {
    it.each<{ readonly name: string; readonly status: ClaimStatus }>([
      { name: "that a claim is mounted on many nodes", status: MOUNTED },
      { name: "that it is unused, since when, by whom, and what nobody saw", status: UNMOUNTED },
      { name: "that it is unused and still staged", status: { ...UNMOUNTED, staged: "s".repeat(3_000) } },
      { name: "that it is no longer staged", status: UNMOUNTED },
      { name: "that only a pod names it", status: { ...MOUNTED, reason: "Referenced", mountedOn: undefined } },
      { name: "that it was given up with its node", status: { ...UNMOUNTED, reason: "NodeGone" } },
      {
        name: "that it was never seen in use",
        status: { ...UNMOUNTED, reason: "NeverObservedInUse", lastUse: undefined },
      },
    ])("$name", async ({ status }) => {
      const result = await (await writerOf(stage())).apply(await readClaim(stage()), status, signal);

      expect(result).toMatchObject({ kind: "written", claim: { status: { reason: status.reason } } });
    });

    it.each([
      { name: "the mark of a volume, as long as it can be", changes: { mountedOn: LONG_MARK } },
      { name: "the last use of a volume", changes: { lastUse: "{}" } },
      { name: "neither any more", changes: { mountedOn: undefined, lastUse: undefined } },
    ])("$name", async ({ changes }) => {
      const volume = projectVolume(await stage().api.get(VOLUME));
      const client = await clientOf(stage(), AGGREGATOR);
      const written = changesTo(volume, { ...(volume.annotations ?? NO_ANNOTATIONS), ...changes }) ?? {};

      const result = await createVolumeWriter({ client, metrics: createMetrics() })(volume, written, signal);

      expect(result).toEqual({ kind: "written" });
      const { annotations } = projectVolume(await stage().api.get(VOLUME));
      expect(annotations ?? NO_ANNOTATIONS).toMatchObject(changes);
    });

    it("nothing of a volume's spec: the API server leaves it as it is", async () => {
      const { spec } = Object(await stage().api.get(VOLUME));
      const changed = { spec: { claimRef: null, persistentVolumeReclaimPolicy: "Delete" } };

      const { status } = await stage().as.aggregator(patch(`${VOLUME}/status`, changed));

      expect(status).toBe(200);
      expect(Object(await stage().api.get(VOLUME)).spec).toEqual(spec);
    });

    it("its events", async () => {
      const warnings: readonly ClaimWarning[] = [
        { kind: "unused-while-mounted", nodes: ["node-1"] },
        { kind: "write-refused", reason: "Invalid", err: "no" },
        { kind: "put-back", annotation: "mooring.dev/last-use", managers: ["kubectl"] },
      ];
      const claim = await readClaim(stage());
      const speaker = {
        client: await clientOf(stage(), AGGREGATOR),
        controller: "mooring.dev/aggregator",
        instance: "mooring-aggregator-1",
      };

      const outcomes = await emitAll(
        stage(),
        speaker,
        warnings.map((warning) => claimEvent(claim, warning, stage().owner.clock.wallMs())),
      );

      expect(outcomes).toEqual(["written", "written", "written"]);
    });

    it("nothing new, when it repeats itself", async () => {
      const first = await (await writerOf(stage())).apply(await readClaim(stage()), UNMOUNTED, signal);
      const again = await (await writerOf(stage())).apply(await readClaim(stage()), UNMOUNTED, signal);

      expect([first.kind, again.kind]).toEqual(["written", "written"]);
    });

    it("annotations away that do not fit", async () => {
      await stage().api.patch(CLAIM, { metadata: { annotations: { "mooring.dev/mounted-on": "forged" } } });

      const result = await (await writerOf(stage())).clean(
        await readClaim(stage()),
        ["mooring.dev/mounted-on"],
        signal,
      );

      expect(result.kind).toBe("written");
    });

    it("its Lease: made, renewed, and with what pods were watched", async () => {
      const leases = createLeaseStore(await clientOf(stage(), AGGREGATOR), {
        ...AGGREGATOR,
        fieldManager: "mooring-aggregator",
      });
      const renewTime = formatMicroTime(stage().owner.clock.wallMs());
      const change = { holder: "a", durationMs: 15_000, renewTime, annotations: { "mooring.dev/pod-coverage": "{}" } };

      const made = await leases.create(change, signal);
      const lease = await leases.read(signal);
      const renewed = lease && (await leases.update(lease, { ...change, holder: "b", transitions: 1 }, signal));

      expect([made.kind, renewed?.kind]).toEqual(["written", "written"]);
    });

    it.each([
      { name: "the leader's label onto its pod", role: "leader" },
      { name: "the leader's label onto its pod once more", role: "leader" },
      { name: "the label away from its pod", role: null },
    ])("$name", async ({ role }) => {
      const path = "/api/v1/namespaces/mooring/pods/mooring-aggregator-node-1";
      const { name, uid } = v.parse(identity, await stage().api.get(path)).metadata;
      const target = { apiVersion: "v1", kind: "Pod", path, namespace: "mooring", name, uid };
      const patch = { metadata: { labels: { "mooring.dev/role": role } } };

      expect(
        await patchObject(await clientOf(stage(), AGGREGATOR), { target, patch, fieldManager: "a" }, signal),
      ).toMatchObject({
        kind: "applied",
      });
    });
  });

  it("the aggregator publishes a certificate, beside that of another replica, and takes it away", async () => {
    const place = { namespace: "mooring-agents", name: CERTIFICATES_NAME };
    const client = await clientOf(stage(), AGGREGATOR);
    const write = async (data: Readonly<Record<string, string>>, creator: string): Promise<string> => {
      const seen = creator === "" ? await readConfigMap(client, place, signal) : undefined;
      const options = {
        labels: { "app.kubernetes.io/part-of": "mooring" },
        fieldManager: "mooring-aggregator",
        creator,
      };
      return (await writeConfigMap(client, { place, seen, data, ...options }, signal)).kind;
    };

    // Both replicas have seen that there is no such object.
    const kinds = [await write({ "one.crt": "a" }, "one"), await write({ "two.crt": "b" }, "two")];
    const both = await readConfigMap(client, place, signal);
    // An administrator's mistake: the policy refuses to leave it there.
    const map = `/api/v1/namespaces/${place.namespace}/configmaps/${place.name}`;
    const contentType = "application/merge-patch+json";
    await stage().plane.api({ method: "PATCH", path: map, body: { binaryData: { "a.der": "AAAA" } }, contentType });
    kinds.push(await write({ "two.crt": "c" }, ""));

    expect(kinds).toEqual(["applied", "applied", "applied"]);
    expect(both?.data).toEqual({ "one.crt": "a", "two.crt": "b" });
    expect((await readConfigMap(client, place, signal))?.data).toEqual({ "two.crt": "c" });
    expect(await stage().api.get(map)).not.toHaveProperty("binaryData");
  });

  it("an agent reads the certificates that it trusts", async () => {
    const place = { namespace: "mooring-agents", name: CERTIFICATES_NAME };

    expect((await readConfigMap(await clientOf(stage(), AGENT), place, signal))?.data).toEqual({ "two.crt": "c" });
  });
}
