import { describe, expect, it } from "vitest";
import { INTERNAL_ERROR, InternalErrors, MOST_KEYS } from "../../../../common/runtime/internal-errors.ts";
import { finish, type Steps } from "../../../../common/runtime/steps.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { oneStep } from "../../../fakes/steps.ts";

function setUp() {
  const logger = createFakeLogger();
  const counts = new Map<string, number>();
  const errors = new InternalErrors(logger, {
    increment: ({ where }) => void counts.set(where, (counts.get(where) ?? 0) + 1),
  });
  return { logger, counts, errors };
}

describe("internal errors", () => {
  it("are counted each time, and logged with their stack once for each key until work on it succeeds or fails otherwise", () => {
    const { logger, counts, errors } = setUp();
    const claims = errors.in("claims");
    const [first, other] = [new TypeError("a bug"), new RangeError("another bug")];

    for (const error of [first, first, first]) claims.note("shop/a", error);
    claims.note("shop/b", first);
    claims.note("shop/a", other);
    claims.clear("shop/a");
    claims.note("shop/a", other);

    expect(counts.get("claims")).toBe(6);
    expect(logger.lines).toEqual(
      [
        { key: "shop/a", err: first },
        { key: "shop/b", err: first },
        { key: "shop/a", err: other },
        { key: "shop/a", err: other },
      ].map((fields) => ({ level: "error", message: INTERNAL_ERROR, fields: { where: "claims", ...fields } })),
    );
  });

  it("are named for as long as work on their keys fails, and fail no check", () => {
    const { errors } = setUp();
    const [claims, reports] = [errors.in("claims"), errors.in("reports")];

    const before = errors.check();
    for (const key of ["shop/a", "shop/b", "shop/c", "shop/d"]) claims.note(key, new Error("a bug"));
    reports.note("n1", new Error("a bug"));
    const during = errors.check();
    for (const key of ["shop/a", "shop/b", "shop/c"]) claims.clear(key);
    reports.clear("n1");
    const later = errors.check();
    claims.clearAll();

    expect(before).toEqual({ ok: true });
    expect(during).toEqual({
      ok: true,
      isDegraded: true,
      detail: "internal errors, see the log; claims: shop/a, shop/b, shop/c and 1 more; reports: n1",
    });
    expect(later).toMatchObject({ detail: "internal errors, see the log; claims: shop/d" });
    expect(errors.check()).toEqual({ ok: true });
  });

  it("return the result of an attempt, or undefined where it throws", () => {
    const { errors } = setUp();
    const reports = errors.in("reports");

    const failed = reports.attempt("n1", () => {
      throw new TypeError("a bug");
    });
    const named = errors.check();
    const done = reports.attempt("n1", () => "done");

    expect([failed, done]).toEqual([undefined, "done"]);
    expect(named).toMatchObject({ isDegraded: true });
    expect(errors.check()).toEqual({ ok: true });
  });

  it("return the result of an attempt in steps, or undefined where a step throws", () => {
    const { errors } = setUp();
    const reports = errors.in("reports");
    function* failing(): Steps<string> {
      yield;
      throw new TypeError("a bug");
    }

    const failed = finish(reports.attemptInSteps("n1", failing()));
    const named = errors.check();
    const done = finish(reports.attemptInSteps("n1", oneStep("done")));

    expect([failed, done]).toEqual([undefined, "done"]);
    expect(named).toMatchObject({ isDegraded: true });
    expect(errors.check()).toEqual({ ok: true });
  });

  it("neither fill the memory nor the log when all keys of a large cluster fail", () => {
    const { logger, counts, errors } = setUp();
    const claims = errors.in("claims");

    for (let key = 0; key <= MOST_KEYS; key += 1) claims.note(`shop/${key}`, new Error("a bug"));

    expect(logger.lines).toHaveLength(MOST_KEYS);
    expect(counts.get("claims")).toBe(MOST_KEYS + 1);
  });

  it("may be anything that was thrown", () => {
    const { errors } = setUp();
    const claims = errors.in("claims");

    for (const thrown of [undefined, null, "text", 7, {}]) claims.note("shop/a", thrown);

    expect(errors.check()).toMatchObject({ isDegraded: true });
  });
});
