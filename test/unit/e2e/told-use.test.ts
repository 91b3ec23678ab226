import { describe, expect, it } from "vitest";
import type { Expected, Truth, UserEnd } from "../../e2e/scenarios/scenario.ts";
import { useFaults } from "../../e2e/scenarios/told-use.ts";

const ENDED = { afterMs: 10_000, byMs: 10_010 };
const WEB: UserEnd = { ...ENDED, node: "node-1", pod: "default/web", podUid: "uid-1" };
const EARLIER: UserEnd = { afterMs: 7_000, byMs: 7_010, node: "node-2", pod: "default/job", podUid: "uid-2" };
const TRUTH: Truth = { ...ENDED, users: [EARLIER, WEB] };
const SEEN = { status: "True", reason: "Unmounted", evidence: "mount-table", isSeen: true } as const;

/** The annotation of a use by `WEB` that ended 9.900 to 10.100 s after the epoch, and what is different of it. */
function told(different: object = {}): string {
  const { node, pod, podUid: podUID } = WEB;
  const releasedAt = "1970-01-01T00:00:10.100Z";
  return JSON.stringify({ node, pod, podUID, releasedAt, uncertaintyMs: 200, evidence: "mount-table", ...different });
}

const GAP = JSON.stringify({ blindGap: { from: "1970-01-01T00:00:09Z", to: "1970-01-01T00:00:12Z" } });

describe("useFaults", () => {
  it.each<{
    name: string;
    text: string | undefined;
    expected?: Partial<Exclude<Expected, "gone">>;
    truth?: Truth | "none";
  }>([
    { name: "the right user and time", text: told() },
    {
      name: "an interval that is as wide as may be",
      text: told({ releasedAt: "1970-01-01T00:00:10.000Z", uncertaintyMs: 0 }),
    },
    { name: "an interval that begins at the end of the true one", text: told({ uncertaintyMs: 90 }) },
    { name: "an end that nobody saw", text: told({ uncertaintyMs: null }), expected: { isSeen: false } },
    {
      name: "a use that nobody knows the user of",
      text: told({ node: undefined, pod: undefined, podUID: undefined, uncertaintyMs: null }),
      expected: { isSeen: false },
    },
    {
      name: "a use of which only the node is known",
      text: told({ pod: undefined, podUID: undefined }),
      expected: { isSeen: undefined },
    },
    { name: "an end that is seen or not", text: told({ uncertaintyMs: null }), expected: { isSeen: undefined } },
    {
      name: "another evidence where any is right",
      text: told({ evidence: "node-gone" }),
      expected: { evidence: "any" },
    },
    { name: "nothing where any evidence is right", text: undefined, expected: { evidence: "any", isSeen: undefined } },
    { name: "nothing where there was no use", text: undefined, expected: { evidence: "none" }, truth: "none" },
    { name: "a time in which nobody watched, and no use", text: GAP, expected: { evidence: "none" }, truth: "none" },
    {
      name: "one of two that ended nearly at once",
      text: told(),
      truth: { afterMs: 10_050, byMs: 10_060, users: [WEB, { ...EARLIER, afterMs: 10_050, byMs: 10_060 }] },
    },
  ])("finds nothing in $name", ({ text, expected, truth = TRUTH }) => {
    const faults = useFaults({ ...SEEN, ...expected }, truth === "none" ? undefined : truth, text);

    expect(faults).toEqual([]);
  });

  it.each<{
    name: string;
    text: string | undefined;
    expected?: Partial<Exclude<Expected, "gone">>;
    truth?: Truth;
    fault: string;
  }>([
    { name: "silence", text: undefined, fault: "no last use is told of" },
    { name: "a time in which nobody watched, and no use", text: GAP, fault: "no last use is told of" },
    {
      name: "a use where there was none",
      text: told(),
      expected: { evidence: "none", isSeen: undefined },
      fault: "a last use is told of, by mount-table",
    },
    {
      name: "another evidence",
      text: told({ evidence: "pod-status" }),
      fault: "it is known by pod-status, not by mount-table",
    },
    { name: "a mount that was not seen", text: told({ uncertaintyMs: null }), fault: "its mount was not seen" },
    {
      name: "a mount that cannot have been seen",
      text: told(),
      expected: { isSeen: false },
      fault: "its mount was seen",
    },
    {
      name: "an end before the true one",
      text: told({ releasedAt: "1970-01-01T00:00:09.999Z" }),
      fault: "the last use is said to have ended 0.001 s before the end",
    },
    {
      name: "an interval after the true one",
      text: told({ uncertaintyMs: 89 }),
      fault: "the last use is said to have lasted 0.001 s longer than it did",
    },
    {
      name: "an interval that is not that of the user",
      text: told({ ...namesOf(EARLIER) }),
      fault: "the last use is said to have lasted 2.890 s longer than it did",
    },
    {
      name: "another node",
      text: told({ node: "node-2" }),
      fault: "it is said to be default/web on node-2 that used it",
    },
    {
      name: "another pod of the node",
      text: told({ pod: "default/job" }),
      fault: "it is said to be default/job on node-1 that used it",
    },
    {
      name: "a pod that did not use it",
      text: told({ podUID: "uid-3" }),
      fault: "it is said to be default/web on node-1 that used it",
    },
    {
      name: "another node where nothing else is known",
      text: told({ node: "node-3", pod: undefined, podUID: undefined }),
      expected: { isSeen: undefined },
      fault: "it is said to be a pod on node-3 that used it",
    },
    {
      name: "nobody where the mount was seen",
      text: told({ podUID: undefined }),
      fault: "it is said to be default/web on node-1 that used it",
    },
  ])("finds fault with $name", ({ text, expected, truth = TRUTH, fault }) => {
    const faults = useFaults({ ...SEEN, ...expected }, truth, text);

    expect(faults).toEqual([fault]);
  });

  it("refuses what cannot be read", () => {
    expect(() => useFaults(SEEN, TRUTH, told({ releasedAt: "yesterday" }))).toThrow("no time: yesterday");
  });
});

function namesOf({ node, pod, podUid: podUID }: UserEnd): object {
  return { node, pod, podUID };
}
