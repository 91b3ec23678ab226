import { describe, expect, it } from "vitest";
import { destructionIn, operationsIn, parseRecord, type RecordEvent } from "../../../csi/record.ts";

const about = { call: "NodeUnpublishVolume", callId: "r-1", volume: "vol-1", target: "/t" } as const;

function began(operationId: string): RecordEvent {
  return { kind: "operation-began", operation: "umount", operationId, ...about };
}

function ended(operationId: string, error: string | null = null): RecordEvent {
  return { kind: "operation-ended", operation: "umount", operationId, ...about, error };
}

/** Lines as the driver writes them, a second after another. */
function textOf(...events: readonly RecordEvent[]): string {
  return events
    .map((event, index) => `${JSON.stringify({ at: { wallMs: 1000 * index, monotonicMs: 1000 * index }, ...event })}\n`)
    .join("");
}

describe("a record", () => {
  it.each([
    { name: "nothing has happened yet", text: "", kinds: [] },
    {
      name: "the last line is half written",
      text: textOf(began("r-2"), ended("r-2")).slice(0, -5),
      kinds: ["operation-began"],
    },
    {
      name: "all lines are whole",
      text: textOf(began("r-2"), ended("r-2")),
      kinds: ["operation-began", "operation-ended"],
    },
  ])("is read when $name", ({ text, kinds }) => {
    expect(parseRecord(text).map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each([
    { name: "a line of another kind", line: '{"at":{"wallMs":1,"monotonicMs":1},"kind":"rumour"}\n' },
    { name: "a line without a time", line: '{"kind":"driver-stopped","run":"r"}\n' },
    { name: "a line that is no JSON", line: "umount\n" },
  ])("is not believed with $name in it", ({ line }) => {
    expect(() => parseRecord(line)).toThrow();
  });
});

describe("operationsIn", () => {
  it.each([
    { name: "joins a begin with its end", events: [began("r-2"), ended("r-2")], expected: [[0, 1000, undefined]] },
    {
      name: "leaves the end open when the driver was killed",
      events: [began("r-2")],
      expected: [[0, undefined, undefined]],
    },
    {
      name: "keeps the error of a failed umount",
      events: [began("r-2"), ended("r-2", "busy")],
      expected: [[0, 1000, "busy"]],
    },
    {
      name: "separates two that overlap, in the order in which they began",
      events: [began("r-2"), began("r-3"), ended("r-3"), ended("r-2", "busy")],
      expected: [
        [0, 3000, "busy"],
        [1000, 2000, undefined],
      ],
    },
  ])("$name", ({ events, expected }) => {
    const operations = operationsIn(parseRecord(textOf(...events)));

    expect(operations.map((one) => [one.began.wallMs, one.ended?.wallMs, one.error])).toEqual(expected);
  });
});

describe("destructionIn", () => {
  const begin = { kind: "destruction-began", volume: "vol-1" } as const;
  const end = { kind: "destruction-ended", volume: "vol-1" } as const;

  it.each([
    { name: "nothing while the contents are there", events: [began("r-2")], expected: undefined },
    { name: "nothing of another volume's", events: [{ ...begin, volume: "vol-2" }], expected: undefined },
    { name: "its begin and its end", events: [began("r-2"), begin, end], expected: [1000, 2000] },
    { name: "no end when the driver was killed meanwhile", events: [begin], expected: [0, undefined] },
    { name: "the first begin when it took two tries", events: [begin, begin, end], expected: [0, 2000] },
  ])("lists $name", ({ events, expected }) => {
    const found = destructionIn(parseRecord(textOf(...events)), "vol-1");

    expect(found && [found.began.wallMs, found.ended?.wallMs]).toEqual(expected);
  });
});
