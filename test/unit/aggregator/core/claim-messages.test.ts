import { describe, expect, it } from "vitest";
import {
  awaitedMessage,
  endMessage,
  mountedMessage,
  silentMessage,
} from "../../../../aggregator/core/claim-messages.ts";
import { endWith, nodeGoneWith, podEndWith, visitWith } from "./decisions.ts";

const HOUR = 3_600_000;

function nodes(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `n${index + 10}`);
}

describe("the message of a claim that is mounted", () => {
  it.each([
    { name: "names its node", on: nodes(1), more: false, text: "Mounted on n10" },
    { name: "names two nodes", on: nodes(2), more: false, text: "Mounted on n10 and n11" },
    { name: "names three nodes", on: nodes(3), more: false, text: "Mounted on n10, n11 and n12" },
    {
      name: "counts further nodes",
      on: nodes(5),
      more: false,
      text: "Mounted on 5 nodes: n10, n11, n12 and 2 more",
    },
    {
      name: "does not count what it does not know",
      on: nodes(32),
      more: true,
      text: "Mounted on more than 32 nodes, among them n10, n11 and n12",
    },
  ])("$name", ({ on, more, text }) => {
    expect(mountedMessage({ nodes: on, more }, true)).toBe(text);
  });

  it("says what is odd where no pod uses it any more", () => {
    expect(mountedMessage({ nodes: nodes(1), more: false }, false)).toBe(
      "Mounted on n10 although no unfinished pod names the claim: it is still to be unmounted there",
    );
  });
});

describe("the message of a use that ended", () => {
  it.each([
    {
      name: "names node, pod and evidence",
      end: endWith({ widthMs: 2_000 }),
      text: "Unmounted on n1, last used by pod shop/web-0 (evidence: mount table)",
    },
    {
      name: "tells an uncertainty of more than two seconds, rounded up",
      end: endWith({ widthMs: 2_000.1 }),
      text: "Unmounted on n1, last used by pod shop/web-0 (evidence: mount table; it may have been up to 3 s earlier)",
    },
    {
      name: "names a pod by its UID where nothing else is known",
      end: endWith({ pod: "pod-1" }),
      text: "Unmounted on n1, last used by a pod with the UID pod-1 (evidence: mount table)",
    },
    {
      name: "says that a mount was never seen, and that the uncertainty is not known",
      end: endWith({ widthMs: undefined }),
      text: "Not mounted on n1 after pod shop/web-0 had ended there (evidence: mount table; its unmount was not seen, it may have been earlier)",
    },
    {
      name: "says that nobody watched",
      end: endWith({ pod: undefined, podUid: undefined, widthMs: 5 * HOUR }),
      text: "Unmounted on n1 while nobody watched (evidence: mount table; it may have been up to 5 h earlier)",
    },
    {
      name: "says that nobody watched and nothing is known of how long",
      end: endWith({ pod: undefined, podUid: undefined, widthMs: undefined, node: undefined }),
      text: "Unmounted while nobody watched (evidence: mount table; it may have been some time earlier)",
    },
    {
      name: "says that only the pod was seen",
      end: podEndWith(),
      text: "Last used by pod shop/web-0 on n1, which has ended (evidence: pod status; no mount can be seen there, so the unmount may have been earlier or later)",
    },
    {
      name: "tells a use from a pod that only named the claim",
      end: visitWith(),
      text: "Pod shop/visitor ended without having used the volume (evidence: pod status)",
    },
    {
      name: "says so of a pod whose name is not known, too",
      end: visitWith({ pod: undefined }),
      text: "A pod ended without having used the volume (evidence: pod status)",
    },
    {
      name: "says that the end is assumed with the node's",
      end: nodeGoneWith(),
      text: "Last mounted on n1, last used by pod shop/web-0 (evidence: the node is gone; the unmount is assumed, nobody saw it)",
    },
    {
      name: "says so where not even the pod is known",
      end: nodeGoneWith({ pod: undefined }),
      text: "Last mounted on n1 (evidence: the node is gone; the unmount is assumed, nobody saw it)",
    },
  ])("$name", ({ end, text }) => {
    expect(endMessage(end)).toBe(text);
  });

  it.each([
    { ms: 2_001, text: "3 s" },
    { ms: 120_000, text: "120 s" },
    { ms: 120_001, text: "3 min" },
    { ms: 2 * HOUR + 1, text: "3 h" },
    { ms: 48 * HOUR, text: "48 h" },
    { ms: 48 * HOUR + 1, text: "3 d" },
  ])("tells an uncertainty of $ms ms as $text", ({ ms, text }) => {
    expect(endMessage(endWith({ widthMs: ms }))).toContain(`up to ${text} earlier`);
  });
});

describe("the message of a claim whose nodes have to answer", () => {
  it.each([
    { name: "names the node", of: [{ node: "n1" }], text: "n1" },
    {
      name: "says which pod ended there",
      of: [{ node: "n1", why: "pod-ended", pod: "shop/web-0" }],
      text: "n1 (pod shop/web-0 ended there)",
    },
    { name: "says that a pod ended there", of: [{ node: "n1", why: "pod-ended" }], text: "n1 (a pod ended there)" },
    { name: "says that it had it mounted", of: [{ node: "n1", why: "was-mounted" }], text: "n1 (had it mounted)" },
    {
      name: "says that the volume is attached to it",
      of: [{ node: "n1", why: "attached" }],
      text: "n1 (the volume is attached to it)",
    },
    {
      name: "names each node once, with what tells most, by name",
      of: [
        { node: "n2" },
        { node: "n1" },
        { node: "n2", why: "pod-ended", pod: "shop/b" },
        { node: "n2", why: "pod-ended", pod: "shop/a" },
        { node: "n1", why: "was-mounted" },
      ],
      text: "n1 (had it mounted) and n2 (pod shop/a ended there)",
    },
    {
      name: "counts what it does not name",
      of: [{ node: "n4" }, { node: "n2" }, { node: "n1" }, { node: "n5" }, { node: "n3" }],
      text: "n1, n2, n3 and 2 more",
    },
  ] as const)("$name", ({ of, text }) => {
    expect(silentMessage(of)).toBe(`Not known to be unused: no report from ${text}`);
    expect(awaitedMessage(of.toReversed())).toBe(`Not known to be unused: awaiting the next report from ${text}`);
  });
});
