import { describe, expect, it } from "vitest";
import { duration, type Screen, showProgress, size } from "../../../control-plane/progress.ts";
import { createInstantClock } from "../process/instant-clock.ts";

function screen(isTerminal: boolean, columns = 80): Screen & { readonly written: readonly string[] } {
  const written: string[] = [];
  return { written, isTerminal, columns, write: (text) => void written.push(text) };
}

/** Work that ends as soon as the screen shows `lines` texts. */
async function shown(on: Screen & { readonly written: readonly string[] }, lines: number): Promise<void> {
  const clock = createInstantClock();
  while (on.written.length < lines) await clock.sleep(1);
}

describe("showProgress", () => {
  it("writes a line every 15 s where lines cannot be written over", async () => {
    const clock = createInstantClock();
    const pipe = screen(false);

    await showProgress({ clock, screen: pipe }, (elapsed) => `building, ${elapsed}`, shown(pipe, 2));

    expect(pipe.written.slice(0, 2)).toEqual(["mooring: building, 15 s\n", "mooring: building, 30 s\n"]);
  });

  it("writes one line over on a terminal and clears it at the end", async () => {
    const clock = createInstantClock();
    const terminal = screen(true, 20);

    await showProgress({ clock, screen: terminal }, () => "building very many packages", shown(terminal, 1));

    expect(terminal.written[0]).toBe("\r\u001b[Kmooring: building v");
    expect(terminal.written.at(-1)).toBe("\r\u001b[K");
  });

  it("hands on what the work returns or why it failed", async () => {
    const progress = { clock: createInstantClock(), screen: screen(false) };

    await expect(showProgress(progress, () => "", Promise.resolve(7))).resolves.toBe(7);
    await expect(showProgress(progress, () => "", Promise.reject(new Error("full")))).rejects.toThrow("full");
  });
});

describe("duration", () => {
  it.each([
    { name: "seconds below a minute", ms: 59_400, text: "59 s" },
    { name: "minutes and seconds above", ms: 260_000, text: "4 min 20 s" },
    { name: "a rounded minute is a minute", ms: 59_600, text: "1 min 0 s" },
  ])("$name", ({ ms, text }) => {
    expect(duration(ms)).toBe(text);
  });
});

describe("size", () => {
  it.each([
    { name: "megabytes below a gigabyte", bytes: 27_218_082, text: "27 MB" },
    { name: "gigabytes above", bytes: 3.14e9, text: "3.1 GB" },
  ])("$name", ({ bytes, text }) => {
    expect(size(bytes)).toBe(text);
  });
});
