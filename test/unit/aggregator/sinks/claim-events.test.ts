import { describe, expect, it } from "vitest";
import { claimEvent } from "../../../../aggregator/sinks/claim-events.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

const upstream = { unused: true, sinceMs: NOON };

const mounts = [
  { node: "n1", pod: "shop/web-0" },
  { node: "n2", pod: undefined },
];
const uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";

describe("what happens to a claim that is being deleted", () => {
  it.each([
    {
      name: "protection keeps it",
      warning: { kind: "deletion-held", mounts },
      reason: "DeletionHeld",
      note: 'The claim is deleted and stays until its volume is unmounted. Mounted on node n1 by pod shop/web-0, node n2. To let it go now, and lose what is written: kubectl annotate pvc -n shop data mooring.dev/force-release="1b4e28ba REASON"',
    },
    {
      name: "protection keeps it, and no mount is seen",
      warning: { kind: "deletion-held", mounts: [] },
      reason: "DeletionHeld",
      note: 'The claim is deleted and stays until its volume is unmounted. Not known to be unused. To let it go now, and lose what is written: kubectl annotate pvc -n shop data mooring.dev/force-release="1b4e28ba REASON"',
    },
    {
      name: "an override lets it go",
      warning: { kind: "force-released", mounts, why: "lost with n1" },
      reason: "ForceReleased",
      note: "mooring.dev/force-release lets the claim go while its volume is mounted on node n1 by pod shop/web-0, node n2. Reason given: lost with n1",
    },
    {
      name: "an override without a reason lets it go",
      warning: { kind: "force-released", mounts: [], why: "" },
      reason: "ForceReleased",
      note: "mooring.dev/force-release lets the claim go while its volume is in use (Not known to be unused). Reason given: none",
    },
    {
      name: "it is gone and nothing kept it",
      warning: { kind: "removed-while-mounted", mounts, cause: "not-enforced" },
      reason: "RemovedWhileMounted",
      note: "The claim is gone while its volume is mounted on node n1 by pod shop/web-0, node n2: protection is not enforced",
    },
  ] as const)("is one event where $name", ({ warning, reason, note }) => {
    const status = statusWith({ message: "Not known to be unused" });

    const event = claimEvent(claimWith({ uid, status }), warning, NOON);

    expect(event).toMatchObject({ reason, note, type: "Warning", once: `${warning.kind}-${uid}` });
  });
});

describe("a warning about a claim", () => {
  it("is an event on exactly that claim", () => {
    const event = claimEvent(claimWith(), { kind: "unused-while-mounted", nodes: ["n1"] }, NOON);

    expect(event).toMatchObject({
      regarding: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace: "shop",
        name: "data",
        uid: "claim-1",
      },
      type: "Warning",
      reason: "UnusedWhileMounted",
      eventTime: "2026-09-10T00:26:40.000000Z",
    });
  });

  it.each([
    {
      name: "Kubernetes calls it unused while nodes have it mounted",
      claim: claimWith({ upstream }),
      warning: { kind: "unused-while-mounted", nodes: ["n1", "n2", "n3", "n4"] },
      note: "Kubernetes' condition Unused says, since 2026-09-10T00:26:40Z, that no pod uses the claim, but it is mounted on n1, n2, n3 and 1 more: do not delete it as unused",
    },
    {
      name: "Kubernetes does not say since when",
      claim: claimWith({ upstream: { unused: true, sinceMs: undefined } }),
      warning: { kind: "unused-while-mounted", nodes: ["n1"] },
      note: "Kubernetes' condition Unused says that no pod uses the claim, but it is mounted on n1: do not delete it as unused",
    },
    {
      name: "its status is refused",
      claim: claimWith(),
      warning: { kind: "write-refused", reason: "Forbidden", message: "policy says no" },
      note: "The API server refuses the status of the claim, its condition mooring.dev/Unused is out of date (Forbidden): policy says no",
    },
    {
      name: "a known manager puts an annotation back",
      claim: claimWith(),
      warning: { kind: "put-back", annotation: "mooring.dev/unused-since", managers: ["argocd"] },
      note: "argocd puts back mooring.dev/unused-since, which does not fit to the condition mooring.dev/Unused; it is put right again, but less and less often",
    },
    {
      name: "somebody puts another condition back",
      claim: claimWith(),
      warning: { kind: "put-back", annotation: undefined, managers: [] },
      note: "Somebody puts back another condition mooring.dev/Unused; it is put right again, but less and less often",
    },
    {
      name: "somebody puts an annotation back",
      claim: claimWith(),
      warning: { kind: "put-back", annotation: "mooring.dev/last-use", managers: [] },
      note: "Somebody puts back mooring.dev/last-use, which does not fit to the condition mooring.dev/Unused; it is put right again, but less and less often",
    },
  ] as const)("says that $name", ({ claim, warning, note }) => {
    expect(claimEvent(claim, warning, NOON).note).toBe(note);
  });
});
