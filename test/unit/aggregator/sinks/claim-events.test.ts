import { describe, expect, it } from "vitest";
import { type ClaimWarning, claimEvent } from "../../../../aggregator/sinks/claim-events.ts";
import { claimWith, NOON, statusWith } from "../world.ts";

const uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
const claim = claimWith({ uid, status: statusWith({ message: "Not known to be unused" }) });
const mounts = [
  { node: "n1", pod: "shop/web-0" },
  { node: "n2", pod: undefined },
];
const ON = "ounted on node n1 by pod shop/web-0 and node n2";
const KEPT = "The claim is deleted and stays until its volume is unmounted.";
const LET_GO =
  'To let it go now, and lose what is written: kubectl annotate pvc -n shop data mooring.dev/force-release="1b4e28ba REASON"';
const CONDITION = "the condition mooring.dev/Unused";
const LESS_OFTEN = "it is put right again, but less and less often";
const FORCED = "ForceReleased: mooring.dev/force-release lets the claim go while";
const SAYS_UNUSED = "Kubernetes' condition Unused says";

describe("a warning about a claim", () => {
  it.each<readonly [name: string, warning: ClaimWarning, said: string]>(
    // biome-ignore format: a row is a line
    [
      ["protection keeps it", { kind: "deletion-held", mounts }, `DeletionHeld: ${KEPT} M${ON}. ${LET_GO}`],
      ["protection keeps it, and no mount is seen", { kind: "deletion-held", mounts: [] }, `DeletionHeld: ${KEPT} Not known to be unused. ${LET_GO}`],
      ["an override lets it go", { kind: "force-released", mounts, why: "lost with n1" }, `${FORCED} its volume is m${ON}. Reason given: lost with n1`],
      ["an override without a reason lets it go", { kind: "force-released", mounts: [], why: "" }, `${FORCED} its volume is in use (Not known to be unused). Reason given: none`],
      ["it is gone and nothing kept it", { kind: "removed-while-mounted", mounts, cause: "not-enforced" }, `RemovedWhileMounted: The claim is gone while its volume is m${ON}: protection is not enforced`],
      ["Kubernetes calls it unused since an unknown time", { kind: "unused-while-mounted", nodes: ["n1"] }, `UnusedWhileMounted: ${SAYS_UNUSED} that no pod uses the claim, but it is mounted on n1: do not delete it as unused`],
      ["its status is refused", { kind: "write-refused", reason: "Forbidden", err: "policy says no" }, `StatusWriteRefused: The API server refuses the status of the claim, its condition mooring.dev/Unused is out of date (Forbidden): policy says no`],
      ["a known manager puts an annotation back", { kind: "put-back", annotation: "mooring.dev/unused-since", managers: ["argocd"] }, `StatusPutBack: argocd puts back mooring.dev/unused-since, which does not fit to ${CONDITION}; ${LESS_OFTEN}`],
      ["an unknown client puts another condition back", { kind: "put-back", annotation: undefined, managers: [] }, `StatusPutBack: An unknown client puts back another condition mooring.dev/Unused; ${LESS_OFTEN}`],
    ],
  )("says so where %s", (_, warning, said) => {
    const { type, reason, note } = claimEvent(claim, warning, NOON);

    expect([type, `${reason}: ${note}`]).toEqual(["Warning", said]);
  });

  it("is one event on exactly that claim, and says since when Kubernetes is wrong, and about how many nodes", () => {
    const wrong = claimWith({ uid, upstream: { unused: true, sinceMs: NOON } });

    expect(claimEvent(wrong, { kind: "unused-while-mounted", nodes: ["n1", "n2", "n3", "n4"] }, NOON)).toMatchObject({
      regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data", uid },
      eventTime: "2026-09-10T00:26:40.000000Z",
      note: `${SAYS_UNUSED}, since 2026-09-10T00:26:40Z, that no pod uses the claim, but it is mounted on n1, n2, n3 and 1 more: do not delete it as unused`,
    });
  });

  it.each<ClaimWarning>([
    { kind: "deletion-held", mounts },
    { kind: "force-released", mounts, why: "" },
    { kind: "removed-while-mounted", mounts, cause: "not-enforced" },
  ])("of what happens to it once is one event: $kind", (warning) => {
    expect(claimEvent(claim, warning, NOON).once).toBe(`${warning.kind}-${uid}`);
  });
});
