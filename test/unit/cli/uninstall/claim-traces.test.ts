import { describe, expect, it } from "vitest";
import { removalFrom } from "../../../../cli/uninstall/claim-traces.ts";

const OURS = { type: "mooring.dev/Unused", status: "True" };
const THEIRS = { type: "Unused", status: "True" };
const LAST_USE = { "mooring.dev/last-use": "{}" };

/** What `managedFields` says when `manager` owns Kubernetes' condition. */
function ownedBy(manager: string, operation: string): object {
  const fieldsV1 = { "f:status": { "f:conditions": { 'k:{"type":"Unused"}': { ".": {}, "f:type": {} } } } };
  return { manager, operation, subresource: "status", fieldsV1 };
}

function claim(metadata: object, ...conditions: readonly object[]): object {
  const identity = { namespace: "shop", name: "data", uid: "u1", resourceVersion: "7" };
  return { metadata: { ...identity, ...metadata }, status: { phase: "Bound", conditions } };
}

function deletionsOf(...types: readonly string[]): readonly object[] {
  return types.map((type) => ({ type, $patch: "delete" }));
}

describe("removalFrom", () => {
  it.each([
    { name: "a claim without traces", object: claim({}) },
    {
      name: "a claim with other people's annotations and conditions",
      object: claim({ annotations: { "a.b/c": "d" } }, { type: "Resizing" }),
    },
    {
      name: "annotations with our prefix that we never write",
      object: claim({ annotations: { "mooring.dev/ignore": "true" } }),
    },
    { name: "a claim without a status", object: { ...claim({}), status: null } },
    {
      name: "Kubernetes' condition when its own controller wrote it",
      object: claim({ managedFields: [ownedBy("kube-controller-manager", "Update")] }, THEIRS),
    },
    { name: "Kubernetes' condition with an unknown owner", object: claim({}, THEIRS) },
    {
      name: "Kubernetes' condition once a controller wrote it over ours",
      object: claim(
        { managedFields: [ownedBy("mooring-aggregator", "Apply"), ownedBy("kube-controller-manager", "Update")] },
        THEIRS,
      ),
    },
  ])("leaves $name alone", ({ object }) => {
    expect(removalFrom(object)).toBeUndefined();
  });

  it.each([
    {
      name: "our condition",
      object: claim({}, OURS, { type: "Resizing" }),
      types: ["mooring.dev/Unused"],
      annotations: {},
    },
    {
      name: "both of our conditions",
      object: claim({}, OURS, { type: "mooring.dev/Staged" }),
      types: ["mooring.dev/Unused", "mooring.dev/Staged"],
      annotations: {},
    },
    {
      name: "an annotation without its condition",
      object: claim({ annotations: LAST_USE }),
      types: [],
      annotations: { "mooring.dev/last-use": null },
    },
    {
      name: "all of it, whichever manager owns it by now",
      object: claim(
        {
          annotations: { ...LAST_USE, "mooring.dev/unused-since": "", "mooring.dev/mounted-on": "{}", "a.b/c": "d" },
          managedFields: [ownedBy("mooring-aggregator", "Apply")],
        },
        THEIRS,
        OURS,
      ),
      types: ["mooring.dev/Unused", "Unused"],
      annotations: { "mooring.dev/unused-since": null, "mooring.dev/mounted-on": null, "mooring.dev/last-use": null },
    },
  ])("removes $name from exactly the claim and state that was seen", ({ object, types, annotations }) => {
    expect(removalFrom(object)).toEqual({
      namespace: "shop",
      claim: "data",
      path: "/api/v1/namespaces/shop/persistentvolumeclaims/data/status",
      isDeleting: false,
      body: {
        metadata: { uid: "u1", resourceVersion: "7", annotations },
        status: { conditions: deletionsOf(...types) },
      },
    });
  });
});
