import { describe, expect, it } from "vitest";
import { publishedIn } from "../../judge/published.ts";

const UNUSED = { type: "mooring.dev/Unused", status: "True", reason: "Unmounted", message: "" };

function claimOf(condition: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>> = {}) {
  return { metadata: { uid: "uid", annotations }, status: { conditions: [condition] } };
}

describe("the published status of a claim", () => {
  it("is undefined without a time", () => {
    expect(publishedIn(claimOf(UNUSED))).toBeUndefined();
  });

  it("has a last use only of this very claim, and in JSON", () => {
    const lastTransitionTime = "2026-11-21T12:00:00Z";
    const use = (claimUID: string) => JSON.stringify({ claimUID, releasedAt: "2026-11-21T11:59:59Z" });

    const texts = [use("uid"), use("other"), '{"claimUID":"uid"'];
    const said = texts.map((text) =>
      publishedIn(claimOf({ ...UNUSED, lastTransitionTime }, { "mooring.dev/last-use": text })),
    );

    expect(said.map((one) => one?.lastUse?.endedByMs)).toEqual([1_795_262_399_000, undefined, undefined]);
    expect(said.map((one) => one?.sinceMs)).toEqual(texts.map(() => 1_795_262_400_000));
  });
});
