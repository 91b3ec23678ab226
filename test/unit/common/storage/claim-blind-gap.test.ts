import { describe, expect, it } from "vitest";
import {
  type ClaimStatus,
  LAST_USE,
  readClaimStatus,
  writeClaimStatus,
} from "../../../../common/storage/claim-status.ts";
import { findStrays } from "../../../../common/storage/claim-strays.ts";

const UID = "claim-uid-1";
const T = 1_795_255_200_000;
const GAP = { fromMs: T + 1_000, toMs: T + 61_000 };
const USE = {
  id: "release-1",
  node: "node-1",
  pod: "team/web",
  podUid: "u1",
  byMs: T,
  widthMs: 40,
  evidence: "mount-table",
} as const;

function statusWith(fields: Partial<ClaimStatus>): ClaimStatus {
  return {
    unused: true,
    reason: "NoPodUsing",
    message: "m",
    sinceMs: T,
    mountedOn: undefined,
    lastUse: undefined,
    ...fields,
  };
}

function annotationOf(status: ClaimStatus): string {
  return writeClaimStatus(UID, status).annotations[LAST_USE] ?? "";
}

describe("a stored gap", () => {
  it.each([
    { name: "stands beside the last use", status: statusWith({ lastUse: USE, gap: GAP }) },
    {
      name: "stands alone where no use is known",
      status: statusWith({ reason: "NeverObservedInUse", gap: GAP }),
    },
  ])("$name and is read as it was written", ({ status }) => {
    expect(readClaimStatus({ uid: UID, ...writeClaimStatus(UID, status) })).toEqual(status);
  });

  it("is written as people and programs read it, rather too long than too short", () => {
    const status = statusWith({ gap: { fromMs: T + 1_000.7, toMs: T + 60_999.2 } });

    expect(JSON.parse(annotationOf(status))).toEqual({
      claimUID: UID,
      blindGap: { from: "2026-11-21T10:00:01.000Z", to: "2026-11-21T10:01:01.000Z" },
    });
  });

  it.each([
    { name: "of another claim", text: annotationOf(statusWith({ gap: GAP })).replace(UID, "other") },
    { name: "that ends before it begins", text: annotationOf(statusWith({ gap: { fromMs: T + 1, toMs: T } })) },
    { name: "without a time", text: `{"claimUID":"${UID}","blindGap":{"from":"yesterday","to":"now"}}` },
    { name: "that is no JSON", text: '"blindGap"{' },
  ])("$name is ignored", ({ text }) => {
    const { condition } = writeClaimStatus(UID, statusWith({}));

    const read = readClaimStatus({ uid: UID, condition, annotations: { [LAST_USE]: text } });

    expect(read).toEqual(statusWith({}));
    const strays = findStrays(read, { annotations: { [LAST_USE]: text }, managedFields: undefined });
    expect(strays).toContainEqual({ annotation: LAST_USE, fault: "unwanted", managers: [] });
  });

  it("is ignored for a claim that is in use", () => {
    const inUse = statusWith({ unused: false, reason: "Referenced", lastUse: USE });
    const annotations = { [LAST_USE]: annotationOf(statusWith({ lastUse: USE, gap: GAP })) };

    const read = readClaimStatus({ uid: UID, condition: writeClaimStatus(UID, inUse).condition, annotations });

    expect(read).toEqual(inUse);
  });

  it("is no stray annotation without a last use", () => {
    const status = statusWith({ reason: "NeverObservedInUse", gap: GAP });
    const { annotations } = writeClaimStatus(UID, status);

    expect(findStrays(status, { annotations, managedFields: undefined })).toEqual([]);
  });
});
