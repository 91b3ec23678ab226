import { rmSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { startKeeper, stopKeepers } from "./started-keeper.ts";

afterEach(stopKeepers);

async function page(url: string, init?: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text() };
}

describe("a keeper's process", () => {
  it("is ready, and names a lost pool after the first request for its pools", async () => {
    const { url, pool, client } = await startKeeper();
    const before = await page(`${url}/readyz?verbose`);
    rmSync(pool, { recursive: true });

    await client.ask({ verb: "pools" }, new AbortController().signal);
    const after = await page(`${url}/readyz?verbose`);

    expect(before).toEqual({ status: 200, text: expect.stringContaining("[+]pools ok") });
    expect(after).toEqual({ status: 200, text: expect.stringContaining("default: ") });
  });

  it("changes its log level while it runs", async () => {
    const { url, logger, lines } = await startKeeper();

    const answer = await page(`${url}/debug/log-level`, { method: "PUT", body: "debug" });

    expect(answer).toEqual({ status: 200, text: "debug\n" });
    expect(logger.level()).toBe("debug");
    expect(lines.at(-1)).toMatchObject({ level: "warn", msg: "log level changed", logLevel: "debug" });
  });
});
