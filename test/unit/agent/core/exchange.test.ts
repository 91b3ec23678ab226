import { describe, expect, it } from "vitest";
import { afterAnswer, NO_EXCHANGE } from "../../../../agent/core/exchange.ts";
import type { NodeMessage, ReportAnswer } from "../../../../common/storage/node-report.ts";
import { reportWith } from "../../aggregator/world.ts";

type Kind = "report" | "heartbeat";

function sentWith(kind: Kind, session: string): NodeMessage {
  const { mountedVolumes, unmountRecords, ...head } = { ...reportWith(), generation: 7, session };
  return kind === "report" ? { ...head, mountedVolumes, unmountRecords } : head;
}

/** Each message names the session known by then; returns which of their answers made the agent send the whole state at once. */
function resent(rows: readonly (readonly [Kind, Omit<ReportAnswer, "forget">])[]): readonly boolean[] {
  let exchange = NO_EXCHANGE;
  return rows.map(([kind, answer]) => {
    const { isWholeDue, ...next } = afterAnswer(exchange, { forget: [], ...answer }, sentWith(kind, exchange.session));
    exchange = next;
    return isWholeDue;
  });
}

const first = { whole: true, session: "s1" } as const;

describe("afterAnswer", () => {
  it.each([
    { name: "an accepted message is followed by nothing", rows: [["report", { session: "s1" }]], due: [false] },
    {
      name: "the first message to a leader is followed by the whole report, which names the session",
      rows: [
        ["report", first],
        ["report", { session: "s1" }],
      ],
      due: [true, false],
    },
    {
      name: "so is the first message to the next leader, with changes or without",
      rows: [
        ["report", first],
        ["report", { session: "s1" }],
        ["report", { whole: true, session: "s2" }],
        ["report", { session: "s2" }],
        ["heartbeat", { whole: true, session: "s3" }],
      ],
      due: [true, false, true, false, true],
    },
    {
      name: "a session that changes with each answer causes no loop",
      rows: [
        ["report", first],
        ["report", { whole: true, session: "s2" }],
        ["report", { whole: true, session: "s3" }],
      ],
      due: [true, false, false],
    },
    {
      name: "repeated requests for the whole state cause no loop",
      rows: [
        ["report", { session: "s1" }],
        ["report", { whole: true, session: "s1" }],
        ["report", { whole: true, session: "s1" }],
      ],
      due: [false, false, false],
    },
    {
      name: "an aggregator without sessions gets the whole report after a heartbeat only",
      rows: [
        ["report", { whole: true }],
        ["heartbeat", { whole: true }],
      ],
      due: [false, true],
    },
  ] satisfies { name: string; rows: [Kind, Omit<ReportAnswer, "forget">][]; due: boolean[] }[])(
    "$name",
    ({ rows, due }) => {
      expect(resent(rows)).toEqual(due);
    },
  );

  it("keeps the accepted generation, and forgets it when the aggregator asks for the whole", () => {
    const taken = afterAnswer(NO_EXCHANGE, { forget: [], session: "s1" }, sentWith("report", ""));
    const asked = afterAnswer(taken, { forget: [], whole: true }, sentWith("heartbeat", "s1"));

    expect([taken.acceptedGeneration, asked.acceptedGeneration]).toEqual([7, undefined]);
    expect([taken.session, asked.session]).toEqual(["s1", "s1"]);
  });
});
