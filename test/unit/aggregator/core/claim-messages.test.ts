import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InUse, PendingNode } from "../../../../aggregator/core/claims/decide.ts";
import { endMessage, statusOf, unusedMessage } from "../../../../aggregator/core/claims/message.ts";
import { wholeUncertaintyMs } from "../../../../common/storage/claim-status.ts";
import { NOON } from "../world.ts";
import { endWith, nodeGoneWith, podEndWith, visitWith } from "./decisions.ts";

function nodes(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `n${index + 10}`);
}

function inUseMessage(fields: Partial<InUse>): string | undefined {
  const decision = {
    kind: "in-use",
    reason: "Mounted",
    sinceMs: NOON,
    mountedOn: undefined,
    lastUse: undefined,
  } as const;
  return statusOf({ ...decision, isNamed: false, waitsFor: [], ...fields }, undefined)?.message;
}

it("the message of a claim that is mounted counts no unknown node", () => {
  const on = "more than 32 nodes, among them n10, n11 and n12";

  expect(inUseMessage({ mountedOn: { nodes: nodes(32), more: true }, isNamed: true })).toBe(`In use: mounted on ${on}`);
});

describe("the message of a claim that is mounted though its pods have ended", () => {
  const left = "although every pod that names the claim has ended";
  const noReport = (of: string) => `${left}; no report of the mounts on ${of}, so this may be out of date`;
  const more = "n10, n11, n12 and 2 more";

  it.each<readonly [name: string, count: number, silent: readonly string[], text: string]>([
    ["says what is odd", 1, [], `node n10, ${left}`],
    ["says which are Stale, in order", 3, ["n12", "n10"], `nodes n10, n11 and n12, ${noReport("n10 and n12")}`],
    ["counts further Stale nodes", 5, nodes(5), `5 nodes: ${more}, ${noReport(more)}`],
  ])("%s", (...[, count, silent, text]) => {
    const waitsFor = silent.map((node) => ({ node, isSilent: true }));
    const message = inUseMessage({ mountedOn: { nodes: nodes(count), more: false }, waitsFor });
    expect(message).toBe(`In use: still mounted on ${text}`);
  });
});

describe("the message of a use that ended", () => {
  const ended = (by: string, from: string) =>
    `Last used${by} on node n1; its volume was unmounted between ${from}, read from the node's mount table`;
  const [web, at] = [" by pod shop/web-0", "2026-09-10T00:26:41Z"];
  const second = `2026-09-10T00:26:40Z and ${at}`;
  const unread = "but no mount can be seen there, so its volume may have been unmounted earlier or later";
  const unseen = `its unmount was not seen, but by ${at} the node's mount table did not show it any more`;
  const visit = `named the claim and had ended by ${at} without having used its volume`;
  const gone = `on node n1, which is gone since ${at}; its unmount was not observed and is assumed`;

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "names a pod by its UID at least", end: endWith({ pod: "pod-1" }), text: ended(" by a pod with the UID pod-1", second) },
      { name: "leaves out a pod that is not known", end: endWith({ pod: undefined, podUid: undefined, widthMs: 1_000 }), text: ended("", second) },
      { name: "says that an unmount was not seen", end: endWith({ widthMs: undefined }), text: `Last used${web} on node n1; ${unseen}` },
      { name: "distinguishes a use from a pod that only named the claim", end: visitWith(), text: `Pod shop/visitor ${visit}` },
      { name: "distinguishes them where the pod's name is not known, too", end: visitWith({ pod: undefined }), text: `A pod ${visit}` },
      { name: "says that the end is assumed with the node's", end: nodeGoneWith(), text: `Last used${web} ${gone}` },
      { name: "leaves out an unknown node", end: podEndWith({ node: undefined }), text: `Last used${web}; the pod had ended by ${at}, ${unread}` },
    ],
  )("$name", ({ end, text }) => {
    expect(endMessage(end)).toBe(text);
  });

  it("can be made of any numbers", () => {
    fc.assert(
      fc.property(fc.double(), fc.option(fc.double(), { nil: undefined }), (byMs, widthMs) => {
        expect(endMessage(endWith({ byMs, widthMs }))).not.toBe("");
        const gap = { fromMs: byMs, toMs: widthMs ?? byMs };
        expect(unusedMessage({ reason: "NoPodUsing", sinceMs: byMs, lastUse: undefined, gap })).not.toBe("");
      }),
    );
  });

  it("is the same when it is made again of what was written, to the millisecond", () => {
    const span = fc.record({
      byMs: fc.double({ min: NOON, max: NOON + 90_000, noNaN: true }),
      widthMs: fc.option(fc.double({ min: 0, max: 90_000, noNaN: true }), { nil: undefined }),
    });

    fc.assert(
      fc.property(span, ({ byMs, widthMs }) => {
        const whole = widthMs === undefined ? undefined : wholeUncertaintyMs(byMs, widthMs);
        const written = { byMs: Math.ceil(byMs), widthMs: whole };

        expect(endMessage(endWith(written))).toBe(endMessage(endWith({ byMs, widthMs })));
      }),
    );
  });
});

describe("the message of a claim whose nodes have to answer", () => {
  const n1 = (why: PendingNode["why"], pod?: string) => [{ node: "n1", why, pod }];
  const unsorted = [{ node: "n2", why: "pod-ended", pod: "shop/a" }, ...n1("was-mounted")] as const;
  const unwatched = "the last pod may have been there; its end went unobserved";
  const five = ["n4", "n2", "n1", "n5", "n3"].map((node) => ({ node }));
  it.each<readonly [name: string, of: readonly Omit<PendingNode, "isSilent">[], text: string]>([
    ["says that a pod ended there", n1("pod-ended"), "n1 (a pod ended there)"],
    ["says that the volume is attached to it", n1("attached"), "n1 (the volume is attached to it)"],
    ["says that its end went unobserved", n1("unwatched"), `n1 (${unwatched})`],
    ["names each node with its reason, in order", unsorted, "n1 (had it mounted) and n2 (pod shop/a ended there)"],
    ["counts what it does not name", five, "n1, n2, n3 and 2 more"],
  ])("%s", (_, of, text) => {
    const waiting = (isSilent: boolean) => inUseMessage({ waitsFor: of.map((one) => ({ ...one, isSilent })) });
    expect(waiting(true)).toBe(`Not known to be unused: no report from ${text}`);
    expect(waiting(false)).toBe(`Not known to be unused: awaiting the next report from ${text}`);
  });
});
