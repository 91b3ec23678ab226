import { describe, expect, it } from "vitest";
import { readUpstream, writeUpstream } from "../../../../common/storage/upstream-unused.ts";
import { mountedStatus, NOON, statusWith } from "../../aggregator/world.ts";

const ITEM = { "f:status": { "f:conditions": { 'k:{"type":"Unused"}': { ".": {}, "f:status": {} } } } };
const ours = { manager: "mooring-aggregator", operation: "Apply", subresource: "status", fieldsV1: ITEM };
const condition = { type: "Unused", status: "True", lastTransitionTime: "2026-11-21T10:00:00Z" };

describe("Kubernetes' own condition", () => {
  it("is written in kube-controller-manager's words, with our status and time", () => {
    expect(writeUpstream(statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON + 1 }), "all")).toEqual([
      {
        type: "Unused",
        status: "True",
        reason: "NoPodsUsingPVC",
        message: "No pods are currently referencing this PVC",
        lastTransitionTime: "2026-09-10T00:26:41Z",
      },
    ]);
    expect(writeUpstream(mountedStatus(["n1"]), "all")).toEqual([
      {
        type: "Unused",
        status: "False",
        reason: "PodUsingPVC",
        message: "A pod is currently referencing this PVC",
        lastTransitionTime: "2026-09-10T00:26:40Z",
      },
    ]);
    expect(writeUpstream(statusWith(), "key")).toEqual([{ type: "Unused" }]);
    expect(writeUpstream(statusWith(), "none")).toEqual([]);
  });

  it.each([
    { name: "only Mooring's apply owns it", managedFields: [ours], owner: "mooring" },
    { name: "it exists without an owner", managedFields: undefined, owner: "other" },
    {
      name: "another manager owns it",
      managedFields: [{ ...ours, manager: "kube-controller-manager", operation: "Update" }],
      owner: "other",
    },
    {
      name: "another manager owns a part of it",
      managedFields: [
        ours,
        {
          manager: "kube-controller-manager",
          operation: "Update",
          fieldsV1: { "f:status": { "f:conditions": { 'k:{"type":"Unused"}': { "f:reason": {} } } } },
        },
      ],
      owner: "shared",
    },
    {
      name: "another manager's apply owns it",
      managedFields: [{ ...ours, manager: "kubectl" }],
      owner: "other",
    },
    {
      name: "another kind of write in our name owns it",
      managedFields: [{ ...ours, operation: "Update" }],
      owner: "other",
    },
  ])("is owned by $owner when $name", ({ managedFields, owner }) => {
    expect(readUpstream(condition, managedFields)).toEqual({ unused: true, sinceMs: 1_795_255_200_000, owner });
  });

  it("is undefined where there is none", () => {
    expect(readUpstream(undefined, [ours])).toBeUndefined();
  });
});
