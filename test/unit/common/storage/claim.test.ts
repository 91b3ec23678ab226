import { describe, expect, it } from "vitest";
import { projectClaim } from "../../../../common/storage/claim.ts";
import { type ClaimStatus, writeClaimStatus } from "../../../../common/storage/claim-status.ts";

const META = { namespace: "team", name: "data", uid: "c1", resourceVersion: "7" };
const STATUS: ClaimStatus = {
  unused: true,
  reason: "NoPodUsing",
  message: "m",
  sinceMs: 1_000,
  mountedOn: undefined,
  lastUse: undefined,
};

describe("projectClaim", () => {
  it("keeps what Mooring needs of a bound claim", () => {
    const { condition, annotations } = writeClaimStatus("c1", STATUS);
    const upstream = {
      type: "Unused",
      status: "False",
      lastTransitionTime: "1970-01-01T00:00:09Z",
      reason: "PodUsingPVC",
    };

    const claim = projectClaim({
      metadata: { ...META, annotations, labels: { a: "b" } },
      spec: { volumeName: "pv-1", storageClassName: "fast", accessModes: ["ReadWriteOnce"] },
      status: {
        phase: "Bound",
        capacity: { storage: "10Gi" },
        conditions: [{ type: "Resizing", status: "True" }, upstream, condition],
      },
    });

    expect(claim).toEqual({
      key: "team/data",
      uid: "c1",
      namespace: "team",
      name: "data",
      resourceVersion: "7",
      phase: "Bound",
      isDeleting: false,
      volume: "pv-1",
      storageClass: "fast",
      capacity: "10Gi",
      status: STATUS,
      upstream: { unused: false, sinceMs: 9_000 },
    });
  });

  it("projects a claim that was just created", () => {
    expect(projectClaim({ metadata: META })).toMatchObject({
      phase: "",
      volume: undefined,
      status: undefined,
      hasInvalidCondition: undefined,
      upstream: undefined,
    });
  });

  it.each([
    {
      name: "when it was made",
      object: { metadata: { ...META, creationTimestamp: "1970-01-01T00:00:09Z" } },
      expected: { createdAtMs: 9_000 },
    },
    {
      name: "a claim that is being deleted",
      object: { metadata: { ...META, deletionTimestamp: "1970-01-01T00:00:09Z" } },
      expected: { isDeleting: true },
    },
    {
      name: "a claim that an object controls, which another owner does not",
      object: { metadata: { ...META, ownerReferences: [{ uid: "o1" }, { uid: "p1", controller: true }] } },
      expected: { controllerUid: "p1" },
    },
    {
      name: "a claim with owners none of which controls it",
      object: { metadata: { ...META, ownerReferences: [{ uid: "o1", controller: false }] } },
      expected: { controllerUid: undefined },
    },
    {
      name: "a claim with an empty volume name",
      object: { metadata: META, spec: { volumeName: "" } },
      expected: { volume: undefined },
    },
    {
      name: "a claim without a StorageClass",
      object: { metadata: META, spec: { storageClassName: "" }, status: { capacity: null } },
      expected: { storageClass: undefined, capacity: undefined },
    },
    {
      name: "an upstream condition without a time",
      object: { metadata: META, status: { conditions: [{ type: "Unused", status: "True" }] } },
      expected: { upstream: { unused: true, sinceMs: undefined } },
    },
    {
      name: "an annotation that was copied from another claim, and whose it is",
      object: {
        metadata: {
          ...META,
          annotations: { "mooring.dev/unused-since": "2026-11-21T10:00:00Z" },
          managedFields: [
            {
              manager: "restore",
              operation: "Update",
              fieldsV1: { "f:metadata": { "f:annotations": { "f:mooring.dev/unused-since": {} } } },
            },
          ],
        },
      },
      expected: {
        strays: [{ annotation: "mooring.dev/unused-since", fault: "unwanted", managers: ["restore"] }],
      },
    },
    {
      name: "a condition of ours that was damaged",
      object: { metadata: META, status: { conditions: [{ type: "mooring.dev/Unused", status: 7 }] } },
      expected: { status: undefined, hasInvalidCondition: true },
    },
    {
      name: "a condition of ours without the one that it stands beside",
      object: { metadata: META, status: { conditions: [{ type: "mooring.dev/Staged", status: "True" }] } },
      expected: { status: undefined, hasInvalidCondition: true },
    },
    {
      name: "a condition of ours that was copied from an earlier claim",
      object: {
        metadata: { ...META, creationTimestamp: "2026-11-22T10:00:00Z" },
        status: { conditions: [writeClaimStatus("c0", STATUS).condition] },
      },
      expected: { status: undefined, hasInvalidCondition: true },
    },
  ])("understands $name", ({ object, expected }) => {
    expect(projectClaim(object)).toMatchObject(expected);
  });

  it.each([
    { name: "nothing", object: undefined },
    { name: "a text", object: "claim" },
    { name: "no metadata", object: { spec: {} } },
    { name: "a claim without a UID", object: { metadata: { ...META, uid: undefined } } },
    { name: "a claim without a namespace", object: { metadata: { ...META, namespace: undefined } } },
    { name: "a condition without a type", object: { metadata: META, status: { conditions: [{ status: "True" }] } } },
  ])("refuses $name", ({ object }) => {
    expect(() => projectClaim(object)).toThrow();
  });

  it.each([
    { name: "its own UID and a reason", value: "1b4e28ba  lost with n1 ", override: "lost with n1" },
    { name: "its own UID alone", value: "1b4e28ba", override: "" },
    { name: "another claim's UID", value: "00000000 lost", override: undefined },
    { name: "nothing", value: "", override: undefined },
    { name: "a very long reason", value: `1b4e28ba ${"x".repeat(2_000)}`, override: "x".repeat(255) },
  ])("reads an override of a claim that is being deleted where it names $name", ({ value, override }) => {
    const metadata = {
      ...META,
      uid: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
      deletionTimestamp: "1970-01-01T00:00:09Z",
      annotations: { "mooring.dev/force-release": value },
    };

    const { isDeleting, deletion } = projectClaim({ metadata });

    expect(isDeleting).toBe(true);
    expect(deletion).toEqual({ requestedAtMs: 9_000, ...(override !== undefined && { override }) });
  });

  it("reads no override of a claim that is not being deleted", () => {
    const annotations = { "mooring.dev/force-release": "c1 lost" };

    expect(projectClaim({ metadata: { ...META, annotations } }).deletion).toBeUndefined();
  });
});
