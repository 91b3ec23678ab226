import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClaimStatus,
  LAST_USE,
  MAX_NODES,
  MOUNTED_ON,
  readClaimStatus,
  UNUSED_SINCE,
  writeClaimStatus,
  writeStaged,
} from "../../../../common/storage/claim-status.ts";
import { findStrays } from "../../../../common/storage/claim-strays.ts";
import { CENTURY_MS, parseTimestamp } from "../../../../common/storage/timestamp.ts";

const UID = "claim-uid-1";

const STATUS: ClaimStatus = {
  unused: true,
  reason: "Unmounted",
  message: "The last pod gave it up.",
  sinceMs: 1_795_255_200_000,
  mountedOn: undefined,
  lastUse: {
    id: "boot-1/21000/u1/name/pv-1",
    node: "node-1",
    pod: "team/web",
    podUid: "u1",
    byMs: 1_795_255_199_500,
    widthMs: 40,
    evidence: "mount-table",
  },
};

const CONDITION = {
  type: "mooring.dev/Unused",
  status: "True",
  reason: "Unmounted",
  message: "m",
  lastTransitionTime: "2026-11-21T10:00:00Z",
};

function readBack(uid: string, status: ClaimStatus): ClaimStatus | undefined {
  return readClaimStatus({ uid, ...writeClaimStatus(uid, status) });
}

const TOO_MANY = Array.from({ length: MAX_NODES + 1 }, (_, index) => `node-${index}`);

describe("mooring.dev/Staged", () => {
  const read = (staged: unknown) =>
    readClaimStatus({ uid: UID, condition: CONDITION, staged, annotations: {} })?.staged;

  it("is read as it is written, and of a status without it there is none", () => {
    const [written] = writeStaged({ ...STATUS, staged: "on n1" }, undefined);

    expect(read(written)).toBe("on n1");
    expect(writeStaged(STATUS, undefined)).toEqual([]);
  });

  it.each([undefined, null, "True", {}, { status: "False", message: "m" }, { status: "True", message: 7 }])(
    "is none where %j stands there",
    (staged) => {
      expect(read(staged)).toBeUndefined();
    },
  );
});

describe("writeClaimStatus", () => {
  it("writes condition and annotations as users see them", () => {
    expect(writeClaimStatus(UID, STATUS)).toEqual({
      condition: { ...CONDITION, message: "The last pod gave it up." },
      annotations: {
        [UNUSED_SINCE]: "2026-11-21T10:00:00Z",
        [LAST_USE]: JSON.stringify({
          claimUID: UID,
          release: "boot-1/21000/u1/name/pv-1",
          node: "node-1",
          pod: "team/web",
          podUID: "u1",
          releasedAt: "2026-11-21T09:59:59.500Z",
          uncertaintyMs: 40,
          evidence: "mount-table",
        }),
      },
    });
  });

  it.each([
    { name: "a claim in use", status: { unused: false, reason: "Mounted" }, has: false },
    { name: "a claim that a pod names", status: { unused: false, reason: "Referenced" }, has: false },
    { name: "a claim that was never seen in use", status: { unused: true, reason: "NeverObservedInUse" }, has: false },
    { name: "a claim that was unmounted", status: { unused: true, reason: "Unmounted" }, has: true },
    { name: "a claim whose node is gone", status: { unused: true, reason: "NodeGone" }, has: true },
    { name: "a claim that no pod uses", status: { unused: true, reason: "NoPodUsing" }, has: true },
  ] as const)("says since when unused for $name: $has", ({ status, has }) => {
    expect(UNUSED_SINCE in writeClaimStatus(UID, { ...STATUS, ...status }).annotations).toBe(has);
  });

  it("rounds every time up", () => {
    const { condition, annotations } = writeClaimStatus(UID, { ...STATUS, sinceMs: STATUS.sinceMs + 0.1 });

    expect(condition.lastTransitionTime).toBe("2026-11-21T10:00:01Z");
    expect(annotations[UNUSED_SINCE]).toBe("2026-11-21T10:00:01Z");
  });

  it("rounds an end between two milliseconds up", () => {
    const lastUse = STATUS.lastUse && { ...STATUS.lastUse, byMs: STATUS.sinceMs + 10.25, widthMs: 1.5 };
    const { annotations } = writeClaimStatus(UID, { ...STATUS, lastUse });

    const { releasedAt, uncertaintyMs } = JSON.parse(annotations[LAST_USE] ?? "");

    expect(parseTimestamp(releasedAt)).toBe(STATUS.sinceMs + 11);
    // Not later than 8.75, where two milliseconds would leave it at 9.
    expect(uncertaintyMs).toBe(3);
  });

  it("writes null for an unknown uncertainty", () => {
    const { annotations } = writeClaimStatus(UID, {
      ...STATUS,
      lastUse: STATUS.lastUse && { ...STATUS.lastUse, widthMs: undefined },
    });

    expect(annotations[LAST_USE]).toContain('"uncertaintyMs":null');
  });
});

describe("readClaimStatus", () => {
  const name = fc.stringMatching(/^[a-z0-9]{1,10}$/);
  const whole = fc.integer({ min: 0, max: 4_000_000_000 });
  const lastUse = fc.record({
    id: name,
    node: fc.option(name, { nil: undefined }),
    pod: fc.option(name, { nil: undefined }),
    podUid: fc.option(name, { nil: undefined }),
    byMs: whole.map((seconds) => seconds * 1_000 + 7),
    widthMs: fc.option(fc.nat(), { nil: undefined }),
    evidence: fc.constantFrom("mount-table", "pod-status", "node-gone"),
  });
  const mountedOn = fc.record({ nodes: fc.array(name, { maxLength: MAX_NODES }), more: fc.boolean() });
  const status = fc
    .record({
      reason: fc.constantFrom("Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"),
      message: fc.string(),
      sinceMs: whole.map((seconds) => seconds * 1_000),
      mountedOn,
      lastUse: fc.option(lastUse, { nil: undefined }),
    })
    .map((one) => ({
      ...one,
      unused: one.reason !== "Mounted" && one.reason !== "Referenced",
      mountedOn: one.reason === "Mounted" ? one.mountedOn : undefined,
    }));

  it("reads back what was written", () => {
    fc.assert(
      fc.property(status, fc.uuid(), (one, uid) => {
        expect(readBack(uid, one)).toEqual(one);
      }),
    );
  });

  it.each([
    { name: "no condition", condition: undefined },
    { name: "a condition with an unknown reason", condition: { ...CONDITION, reason: "Other" } },
    { name: "a condition with an unknown status", condition: { ...CONDITION, status: "Unknown" } },
    { name: "a condition that is unused although mounted", condition: { ...CONDITION, reason: "Mounted" } },
    { name: "a condition that is in use although unmounted", condition: { ...CONDITION, status: "False" } },
    { name: "a condition without a time", condition: { ...CONDITION, lastTransitionTime: undefined } },
    { name: "a condition whose time is null", condition: { ...CONDITION, lastTransitionTime: null } },
    { name: "a condition whose time is none", condition: { ...CONDITION, lastTransitionTime: "soon" } },
  ])("reads no status of a claim with $name, whatever its annotations are", ({ condition }) => {
    const { annotations } = writeClaimStatus(UID, STATUS);

    expect(readClaimStatus({ uid: UID, condition, annotations })).toBeUndefined();
  });

  it.each([
    { name: "a year before the claim was made", sinceMs: STATUS.sinceMs - 31_536_000_000, isKnown: false },
    { name: "a second before the claim was made", sinceMs: STATUS.sinceMs - 1_000, isKnown: false },
    { name: "the begin of the second in which the claim was made", sinceMs: STATUS.sinceMs, isKnown: false },
    { name: "the end of the second in which the claim was made", sinceMs: STATUS.sinceMs + 1_000, isKnown: true },
  ])("believes a condition whose time is $name: $isKnown", ({ sinceMs, isKnown }) => {
    const written = writeClaimStatus(UID, { ...STATUS, sinceMs });

    const status = readClaimStatus({ uid: UID, createdAtMs: STATUS.sinceMs, ...written });

    expect(status !== undefined).toBe(isKnown);
  });

  it.each([
    { name: "a millisecond before the claim was made", byMs: STATUS.sinceMs - 60_001, isKnown: false },
    { name: "in the second in which the claim was made", byMs: STATUS.sinceMs - 60_000, isKnown: true },
  ])("believes a last use $name: $isKnown", ({ byMs, isKnown }) => {
    const lastUse = STATUS.lastUse && { ...STATUS.lastUse, byMs };
    const written = writeClaimStatus(UID, { ...STATUS, lastUse });

    const status = readClaimStatus({ uid: UID, createdAtMs: STATUS.sinceMs - 60_000, ...written });

    expect(status?.lastUse !== undefined).toBe(isKnown);
  });

  const good = JSON.stringify({
    claimUID: UID,
    release: "r",
    releasedAt: "2026-11-21T10:00:00Z",
    uncertaintyMs: null,
    evidence: "mount-table",
  });
  it.each([
    { name: "is not there", text: undefined },
    { name: "is no JSON", text: "{" },
    { name: "is another claim's, as of a restored backup", text: good.replace(UID, "other") },
    { name: "has a time that is none", text: good.replace("2026-11-21T10:00:00Z", "soon") },
    { name: "has an unknown evidence", text: good.replace("mount-table", "hearsay") },
    { name: "has a negative uncertainty", text: good.replace("null", "-1") },
    { name: "has an uncertainty of a century", text: good.replace("null", String(CENTURY_MS)) },
    { name: "has an uncertainty that no date could bear", text: good.replace("null", "1e18") },
    { name: "has an endless uncertainty", text: good.replace("null", "1e999") },
    { name: "names a release that is longer than any", text: good.replace('"r"', `"${"r".repeat(1_025)}"`) },
    { name: "is a list", text: "[]" },
    { name: "is longer than any that Mooring writes", text: `${good}${" ".repeat(16_384)}` },
    ...(["release", "node", "pod", "podUID"] as const).map((field) => ({
      name: `has a ${field} that is longer than any`,
      text: JSON.stringify({ ...JSON.parse(good), [field]: "x".repeat(1_025) }),
    })),
  ])("reads no last use where the annotation $name", ({ text }) => {
    const annotations = text === undefined ? {} : { [LAST_USE]: text };

    expect(readClaimStatus({ uid: UID, condition: CONDITION, annotations })).toMatchObject({
      reason: "Unmounted",
      lastUse: undefined,
    });
  });

  it("reads the last use where the annotation is valid", () => {
    expect(
      readClaimStatus({ uid: UID, condition: CONDITION, annotations: { [LAST_USE]: good } })?.lastUse,
    ).toMatchObject({ id: "r" });
  });

  it.each([
    { name: "the reason is not Mounted", reason: "Unmounted", nodes: ["node-1"], uid: UID },
    { name: "it is another claim's", reason: "Mounted", nodes: ["node-1"], uid: "other" },
    { name: "it names more nodes than may be", reason: "Mounted", nodes: TOO_MANY, uid: UID },
    { name: "a node has no name", reason: "Mounted", nodes: ["node-1", ""], uid: UID },
  ])("reads no nodes from an annotation when $name", ({ reason, nodes, uid }) => {
    const text = JSON.stringify({ claimUID: uid, nodes });

    const status = readClaimStatus({
      uid: UID,
      condition: { ...CONDITION, status: reason === "Mounted" ? "False" : "True", reason },
      annotations: { [MOUNTED_ON]: text },
    });

    expect(status).toMatchObject({ reason, mountedOn: undefined });
  });
});

describe("findStrays", () => {
  const { annotations: own } = writeClaimStatus(UID, STATUS);
  const idle: ClaimStatus = { ...STATUS, reason: "NeverObservedInUse", lastUse: undefined };
  const mounted: ClaimStatus = {
    ...idle,
    unused: false,
    reason: "Mounted",
    mountedOn: { nodes: ["node-1"], more: false },
  };
  const since = { [UNUSED_SINCE]: "2026-11-21T10:00:00Z" };

  it.each([
    { name: "what Mooring wrote", status: STATUS, annotations: own, strays: [] },
    { name: "annotations of others", status: undefined, annotations: { a: "b" }, strays: [] },
    {
      name: "a time written in another way",
      status: STATUS,
      annotations: { ...own, [UNUSED_SINCE]: "2026-11-21T11:00:00+01:00" },
      strays: [],
    },
    {
      name: "a time that is not the condition's",
      status: STATUS,
      annotations: { ...own, [UNUSED_SINCE]: "2026-11-21T09:00:00Z" },
      strays: [{ annotation: UNUSED_SINCE, fault: "wrong" }],
    },
    {
      name: "a time that is none",
      status: STATUS,
      annotations: { ...own, [UNUSED_SINCE]: "" },
      strays: [{ annotation: UNUSED_SINCE, fault: "wrong" }],
    },
    {
      name: "a removed time",
      status: { ...STATUS, lastUse: undefined },
      annotations: {},
      strays: [{ annotation: UNUSED_SINCE, fault: "wrong" }],
    },
    {
      name: "a time beside a claim that was never seen in use",
      status: idle,
      annotations: since,
      strays: [{ annotation: UNUSED_SINCE, fault: "unwanted" }],
    },
    {
      name: "a time beside a claim that is in use",
      status: mounted,
      annotations: since,
      strays: [{ annotation: UNUSED_SINCE, fault: "unwanted" }],
    },
    {
      name: "everything beside no condition, even what is empty",
      status: undefined,
      annotations: { ...own, [MOUNTED_ON]: "" },
      strays: [
        { annotation: UNUSED_SINCE, fault: "unwanted" },
        { annotation: MOUNTED_ON, fault: "unwanted" },
        { annotation: LAST_USE, fault: "unwanted" },
      ],
    },
    {
      name: "nodes beside a claim that is not mounted",
      status: STATUS,
      annotations: { ...own, [MOUNTED_ON]: "{}" },
      strays: [{ annotation: MOUNTED_ON, fault: "unwanted" }],
    },
  ] as const)("finds strays in $name: $strays", ({ status, annotations, strays }) => {
    const found = findStrays(status, { annotations, managedFields: undefined });

    expect(found).toEqual(strays.map((stray) => ({ ...stray, managers: [] })));
  });
});
