import { describe, expect, it } from "vitest";
import { failed, PASSED, renderHealth } from "../../../../common/runtime/health.ts";

const GOOD = { ping: () => PASSED };
const BAD = { ping: () => PASSED, cluster: () => failed("not listed yet") };

describe("renderHealth", () => {
  it.each([
    { name: "all is well", checks: GOOD, verbose: false, status: 200, body: "ok" },
    {
      name: "all is well, verbose",
      checks: GOOD,
      verbose: true,
      status: 200,
      body: "[+]ping ok\nreadyz check passed\n",
    },
    {
      name: "all checks pass, with details in the verbose form",
      checks: { leader: () => ({ ok: true, detail: "a leads" }) as const },
      verbose: true,
      status: 200,
      body: "[+]leader ok: a leads\nreadyz check passed\n",
    },
    {
      name: "all checks pass, without details in the short form",
      checks: { leader: () => ({ ok: true, detail: "a leads" }) as const },
      verbose: false,
      status: 200,
      body: "ok",
    },
    { name: "there are no checks", checks: {}, verbose: false, status: 200, body: "ok" },
    {
      name: "a check fails",
      checks: BAD,
      verbose: false,
      status: 503,
      body: "[+]ping ok\n[-]cluster failed: not listed yet\nreadyz check failed\n",
    },
    {
      name: "a check fails, verbose",
      checks: BAD,
      verbose: true,
      status: 503,
      body: "[+]ping ok\n[-]cluster failed: not listed yet\nreadyz check failed\n",
    },
  ])("when $name", ({ checks, verbose, status, body }) => {
    expect(renderHealth("readyz", checks, verbose)).toEqual({ status, body });
  });
});
