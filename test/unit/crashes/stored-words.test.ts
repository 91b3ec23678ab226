import { describe, expect, it } from "vitest";
import { readStored } from "../../crashes/stored-words.ts";

const USE = {
  claimUID: "claim-1",
  release: "any",
  node: "node-a",
  podUID: "pod-1",
  releasedAt: "2026-01-02T03:04:05.678Z",
  uncertaintyMs: 12,
  evidence: "mount-table",
};

function claim(condition: object | undefined, lastUse?: object): object {
  const annotations = lastUse === undefined ? {} : { "mooring.dev/last-use": JSON.stringify(lastUse) };
  const others = [
    { type: "Unused", status: "True", reason: "NoPodsUsingPVC", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const conditions = condition === undefined ? others : [...others, { type: "mooring.dev/Unused", ...condition }];
  return { metadata: { name: "one", uid: "claim-1", annotations }, status: { phase: "Bound", conditions } };
}

const UNUSED = { status: "True", reason: "Unmounted", message: "words", lastTransitionTime: "2026-01-02T03:04:06Z" };

describe("what is read of a stored claim", () => {
  it("is Mooring's condition and the last use beside it", () => {
    const words = readStored(claim(UNUSED, USE));

    expect(words).toEqual({
      unused: true,
      reason: "Unmounted",
      message: "words",
      sinceMs: 1_767_323_046_000,
      lastUse: { podUid: "pod-1", releasedAtMs: 1_767_323_045_678, uncertaintyMs: 12 },
    });
  });

  it.each([
    { name: "nothing, where only Kubernetes has spoken", object: claim(undefined, USE), expected: undefined },
    {
      name: "no last use, where that of another claim was copied",
      object: claim(UNUSED, { ...USE, claimUID: "claim-2" }),
      expected: { lastUse: undefined },
    },
    {
      name: "no last use, where there is only a time in which nobody watched",
      object: claim(UNUSED, {
        claimUID: "claim-1",
        blindGap: { from: "2026-01-02T03:04:05Z", to: "2026-01-02T03:04:06Z" },
      }),
      expected: { lastUse: undefined },
    },
    {
      name: "a last use that nobody is named for, and whose uncertainty nobody knows",
      object: claim(UNUSED, { ...USE, podUID: undefined, uncertaintyMs: null }),
      expected: { lastUse: { podUid: undefined, uncertaintyMs: undefined } },
    },
  ])("is $name", ({ object, expected }) => {
    const words = readStored(object);

    if (expected === undefined) expect(words).toBeUndefined();
    else expect(words).toMatchObject(expected);
  });

  it.each([
    { name: "a status that is neither True nor False", object: claim({ ...UNUSED, status: "Unknown" }) },
    { name: "a time that is none", object: claim({ ...UNUSED, lastTransitionTime: "soon" }) },
    { name: "a last use without a time", object: claim(UNUSED, { ...USE, releasedAt: undefined }) },
  ])("is never a guess: $name ends it", ({ object }) => {
    expect(() => readStored(object)).toThrow();
  });
});
