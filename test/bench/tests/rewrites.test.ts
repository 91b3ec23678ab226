import { describe, expect, it } from "vitest";
import { projectClaim } from "../../../common/storage/claim.ts";
import type { Listener } from "../claim-watch.ts";
import { Rewrites } from "../rewrites.ts";

function started() {
  const listeners = new Set<Listener>();
  const listen = (see: Listener): (() => void) => {
    listeners.add(see);
    return () => void listeners.delete(see);
  };
  const rewrites = new Rewrites({ listen }, ({ name }) => name.startsWith("old"));
  const change = (name: string): void => {
    const metadata = { namespace: "shop", name, uid: `uid of ${name}`, resourceVersion: "1" };
    for (const see of listeners) see(projectClaim({ metadata }), 0, false);
  };
  return { rewrites, change };
}

describe("rewrites", () => {
  it("counts the claims that had a condition, and each change of them", () => {
    const { rewrites, change } = started();

    for (const name of ["old-1", "new-1", "old-2", "old-1"]) change(name);

    expect(rewrites.counts).toEqual({ claims: 2, changes: 3 });
  });

  it("tells the first few in full, each once", () => {
    const { rewrites, change } = started();

    for (const name of ["old-1", "old-1", "old-2", "old-3", "old-4"]) change(name);

    expect(rewrites.examples).toEqual(["old-1", "old-2", "old-3"].map((name) => `shop/${name}: no status: `));
  });

  it("counts nothing that is meant to come", () => {
    const { rewrites, change } = started();

    rewrites.stop();
    change("old-1");

    expect(rewrites.counts).toEqual({ claims: 0, changes: 0 });
  });
});
