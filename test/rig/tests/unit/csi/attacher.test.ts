import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { attachmentSteps, projectAttachment } from "../../../csi/attacher.ts";

const DRIVER = "csi.test";
const FINALIZER = "external-attacher/csi.test";

interface Change {
  readonly attacher?: string;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly attached?: boolean;
}

function attachment({ attacher = DRIVER, finalizers, deletionTimestamp, attached }: Change): object {
  return {
    metadata: { name: "va-1", uid: "u1", resourceVersion: "7", finalizers, deletionTimestamp },
    spec: { attacher, nodeName: "node-1", source: { persistentVolumeName: "pv-1" } },
    ...(attached === undefined ? {} : { status: { attached } }),
  };
}

const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };

describe("attachmentSteps", () => {
  it.each<{ name: string; seen: Change; steps: readonly string[] }>([
    { name: "a new one is kept, then attached", seen: {}, steps: [`keep ${FINALIZER}`, "attached true"] },
    { name: "one that is kept is attached", seen: { finalizers: [FINALIZER] }, steps: ["attached true"] },
    { name: "others' finalizers stay", seen: { finalizers: ["x"], attached: true }, steps: [`keep x,${FINALIZER}`] },
    { name: "one that is attached is left alone", seen: { finalizers: [FINALIZER], attached: true }, steps: [] },
    {
      name: "one that is deleted is detached first",
      seen: { ...deleting, finalizers: [FINALIZER], attached: true },
      steps: ["attached false"],
    },
    {
      name: "then it is let go",
      seen: { ...deleting, finalizers: ["x", FINALIZER], attached: false },
      steps: ["keep x"],
    },
    { name: "one that others keep is not touched again", seen: { ...deleting, finalizers: ["x"] }, steps: [] },
    { name: "another driver's is left alone", seen: { attacher: "csi.other" }, steps: [] },
  ])("$name", ({ seen, steps }) => {
    const found = attachmentSteps(DRIVER, projectAttachment(attachment(seen)));

    expect(found.map(({ subresource, body }) => summaryOf(subresource, body))).toEqual(steps);
  });

  it("replaces finalizers only in the state that it saw", () => {
    const [step] = attachmentSteps(DRIVER, projectAttachment(attachment({})));

    expect(step?.body).toMatchObject({ metadata: { uid: "u1", resourceVersion: "7" } });
  });
});

const change = v.object({
  metadata: v.object({ finalizers: v.optional(v.array(v.string()), []) }),
  status: v.optional(v.object({ attached: v.boolean() })),
});

function summaryOf(subresource: string, body: object): string {
  const { metadata, status } = v.parse(change, body);
  return subresource === "/status" ? `attached ${status?.attached}` : `keep ${metadata.finalizers.join(",")}`;
}
