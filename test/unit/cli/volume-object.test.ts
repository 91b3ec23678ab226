import { describe, expect, it } from "vitest";
import { attachmentsOf, type Surroundings, volumeOf } from "../../../cli/volume-object.ts";
import type { Claim } from "../../../common/storage/claim.ts";
import { writeClaimStatus } from "../../../common/storage/claim-status.ts";
import { volumeMarkText } from "../../../common/storage/volume-annotations.ts";
import { claimOf, lastUseOf, NOW_MS, statusOf } from "./claims.ts";

const METADATA = { name: "pv-1", uid: "uid-1", creationTimestamp: "2026-09-01T00:00:00Z" };
const CLAIM_REF = { namespace: "shop", name: "reports", uid: "uid-reports" };

function shown(object: object, change: Partial<Surroundings> = {}): ReturnType<typeof volumeOf> {
  const surroundings = { claim: (): Claim | undefined => undefined, attachedTo: () => ["n1"], nowMs: NOW_MS };
  return volumeOf({ metadata: METADATA, spec: {}, ...object }, { ...surroundings, ...change });
}

/** The annotation of the claim's last use, as Mooring writes it. */
function lastUseText(claimUid: string): string {
  const { annotations } = writeClaimStatus(claimUid, statusOf("Unmounted", 1, { lastUse: lastUseOf() }));
  return annotations["mooring.dev/last-use"] ?? "";
}

describe("volumeOf", () => {
  it("has the fields of the API object", () => {
    const spec = {
      ...{ claimRef: CLAIM_REF, storageClassName: "fast", capacity: { storage: "10Gi" } },
      ...{ persistentVolumeReclaimPolicy: "Retain", csi: { driver: "csi.example" } },
    };
    const status = { phase: "Released", lastPhaseTransitionTime: "2026-09-02T00:00:00Z" };

    expect(shown({ spec, status })).toEqual({
      ...{ name: "pv-1", uid: "uid-1", phase: "Released", storageClass: "fast", capacity: "10Gi" },
      ...{ reclaimPolicy: "Retain", driver: "csi.example", claim: CLAIM_REF },
      since: { ms: 1_788_307_200_000, from: "api" },
      ...{ mountedOn: { items: [], omitted: 0 }, stagedOn: undefined, lastUse: undefined },
      attachedTo: { items: ["n1"], omitted: 0 },
    });
  });

  it.each([
    { name: "of 2099", time: "2099-01-01T00:00:00Z", since: undefined },
    { name: "that is missing", time: null, since: undefined },
    { name: "that is none", time: "yesterday", since: undefined },
    { name: "before the creation", time: "2020-01-01T00:00:00Z", since: "created" },
  ])("a time $name is known from $since", ({ time, since }) => {
    const { since: found } = shown({ status: { phase: "Released", lastPhaseTransitionTime: time } });

    expect(found?.from).toBe(since);
  });

  it("is mounted where its claim is, and was last used as its claim was", () => {
    const claim = claimOf({ name: "reports", status: statusOf("Mounted", 1, { lastUse: lastUseOf() }) });
    const volume = shown(
      { spec: { claimRef: CLAIM_REF } },
      { claim: (uid) => (uid === claim.uid ? claim : undefined) },
    );

    expect(volume).toMatchObject({ mountedOn: { items: ["node-a"], omitted: 0 }, lastUse: { pod: "shop/web-0" } });
  });

  it("is mounted where its annotation says once the claim is gone, if the annotation is its own", () => {
    const markOf = (uid: string) => ({ "mooring.dev/mounted-on": volumeMarkText(uid, ["node-a", "node-b"]) });
    const [own, copied] = ["uid-1", "uid-2"].map((uid) =>
      shown({ metadata: { ...METADATA, annotations: markOf(uid) }, spec: { claimRef: CLAIM_REF } }),
    );

    expect(own?.mountedOn).toEqual({ items: ["node-a", "node-b"], omitted: 0 });
    expect(copied?.mountedOn).toEqual({ items: [], omitted: 0 });
  });

  it("was last used as its own annotation says once the claim is gone", () => {
    const annotations = { "mooring.dev/last-use": lastUseText(CLAIM_REF.uid) };
    const volume = shown({ metadata: { ...METADATA, annotations }, spec: { claimRef: CLAIM_REF } });

    expect(volume.lastUse).toEqual(lastUseOf());
  });

  it.each([
    { name: "of another claim", annotation: lastUseText("uid-other") },
    { name: "that is none", annotation: "{" },
  ])("has no last use by an annotation $name", ({ annotation }) => {
    const annotations = { "mooring.dev/last-use": annotation };

    expect(shown({ metadata: { ...METADATA, annotations }, spec: { claimRef: CLAIM_REF } }).lastUse).toBeUndefined();
  });

  it("does not know where it is attached where that may not be read", () => {
    expect(shown({}, { attachedTo: undefined }).attachedTo).toBeUndefined();
  });

  it.each([null, {}, { metadata: {} }])("refuses what is no volume: %j", (object) => {
    expect(() => volumeOf(object, { claim: () => undefined, attachedTo: undefined, nowMs: 0 })).toThrow();
  });
});

describe("attachmentsOf", () => {
  it("has the nodes of each volume, and leaves out inline volumes", () => {
    const of = (nodeName: string, persistentVolumeName?: string) => ({
      spec: { nodeName, source: { persistentVolumeName } },
    });

    const nodes = attachmentsOf([of("n2", "pv-1"), of("n1", "pv-1"), of("n3"), of("n3", "pv-2")]);

    expect([...nodes]).toEqual([
      ["pv-1", ["n1", "n2"]],
      ["pv-2", ["n3"]],
    ]);
  });
});
