import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { ownLagP99, readLateTurns, traceFile } from "../late-turns.ts";

/** Ten seconds are 500 turns: the five latest are above the limit of 99 %. */
const span = { fromMs: 1_000, toMs: 11_000 };

/** A turn that began a second after boot and ended this late; it ended two seconds after the epoch. */
const late = (ms: number): string => `2000 1000000 ${1_020_000 + ms * 1000}`;
const [OTHER_TIME, MINUTE] = [late(50).replace("2000", "999"), 60_000_000];

/** An event of a trace, this many milliseconds after the turn began. */
function collection(fromMs: number, ms: number, tid = 7): string {
  const event = {
    pid: 7,
    tid,
    ts: 1_000_000 + fromMs * 1000,
    tts: 0,
    ph: "X",
    cat: "v8",
    name: "V8.GCIncrementalMarking",
  };
  return JSON.stringify({ ...event, dur: ms * 1000, tdur: 0, args: {} });
}

it.each([
  { name: "is the least that is noted where no turn was late", lines: [], lag: 10 },
  { name: "is that of the sixth latest turn", lines: [30, 16, 17, 18, 19, 15].map(late), lag: 15 },
  { name: "counts a blocked loop once for each turn that was due", lines: [late(115)], lag: 15 },
  { name: "leaves out turns of other times", lines: Array(6).fill(OTHER_TIME), lag: 10 },
  { name: "leaves out steps of marking", lines: [late(150)], trace: [collection(20, 15), collection(40, 20)], lag: 15 },
  {
    name: "counts one within another once",
    lines: [late(150)],
    trace: [collection(20, 35), collection(30, 20)],
    lag: 15,
  },
  {
    name: "leaves out the part within the turn",
    lines: [late(150)],
    trace: [collection(-5, 25), collection(155, MINUTE)],
    lag: 15,
  },
  { name: "has nothing of other threads", lines: [late(115)], trace: [collection(20, 50, 8)], lag: 15 },
])("the lag without garbage collection $name", ({ lines, trace, lag }) => {
  const folder = mkdtempSync(`${tmpdir()}/late-turns-`);
  try {
    if (lines.length > 0) writeFileSync(`${folder}/turns`, lines.map((line) => `${line}\n`).join(""));
    if (trace !== undefined)
      writeFileSync(traceFile(`${folder}/turns`, ["7", "1"]), `{"traceEvents":[${trace.join(",")}`);

    expect(ownLagP99(readLateTurns(`${folder}/turns`), span)).toBeCloseTo(lag);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
