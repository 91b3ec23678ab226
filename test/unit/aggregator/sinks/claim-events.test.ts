import { describe, expect, it } from "vitest";
import { claimEvent } from "../../../../aggregator/sinks/claim-events.ts";
import { claimWith, NOON } from "../world.ts";

const upstream = { unused: true, sinceMs: NOON };

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
