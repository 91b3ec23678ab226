import { afterEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../simulation/engine/api/objects.ts";
import type { Fate } from "../../simulation/engine/fate.ts";
import { closeHouses } from "../house.ts";
import { addClaim, CLAIM } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";

afterEach(closeHouses);

/** A write of a claim's status. */
interface Write {
  /** `namespace/name`. */
  readonly key: string;
  readonly atS: number;
}

const REFUSED: Fate = { refusal: { status: 422 } };
const FORBIDDEN: Fate = { refusal: { status: 403 } };
const FAILED: Fate = { refusal: { status: 500 } };
const DENIED = "no permission to write claim status";

/** Gives writes this fate from now on, and returns the writes. */
function meet(scene: Scene, fateOf: (key: string) => Fate): readonly Write[] {
  const writes: Write[] = [];
  scene.house.setFaults(({ site, request }) => {
    if (site !== "apply persistentvolumeclaims/status") return {};
    const [, namespace, name] = /namespaces\/([^/]+)\/persistentvolumeclaims\/([^/]+)/.exec(request.path) ?? [];
    const key = `${namespace}/${name}`;
    writes.push({ key, atS: scene.seconds });
    return fateOf(key);
  });
  return writes;
}

function named(count: number): readonly { readonly name: string }[] {
  return Array.from({ length: count }, (_, index) => ({ name: `data-${index}` }));
}

/** Claims whose first status is to be written, with this fate. */
async function begun(claims: readonly NonNullable<Parameters<typeof addClaim>[1]>[], fateOf: (key: string) => Fate) {
  const scene = await leadingScene({ claims });
  const writes = meet(scene, fateOf);
  await scene.report();
  return { scene, writes };
}

function stored({ house }: Scene): readonly string[] {
  const claims = house.api.list("persistentvolumeclaims").filter(({ status }) => "conditions" in Object(status));
  return claims.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
}

function warned({ leader }: Scene): readonly unknown[] {
  return leader.logger.lines.flatMap(({ fields: { claim, warning } }) =>
    warning === undefined ? [] : [[claim, warning]],
  );
}

describe("a status that the API server refuses", () => {
  it("delays no other, and is counted and reported once, until it is taken", async () => {
    const { scene } = await begun([{}, { name: "other" }], (key) => (key === "shop/data" ? REFUSED : {}));
    await scene.pass(100);
    const before = [stored(scene), await scene.leader.metric("mooring_status_writes_refused")];

    meet(scene, () => ({}));
    await scene.pass(200);

    expect(before).toEqual([["shop/other"], 1]);
    expect(stored(scene)).toEqual(["shop/data", "shop/other"]);
    expect(await scene.leader.metric("mooring_status_writes_refused")).toBe(0);
    expect(warned(scene)).toEqual([["data", "write-refused"]]);
  });

  it("is reported once, however often and with whatever content, and again after one was taken", async () => {
    const { scene } = await begun([{}], () => ({}));
    const counts: number[] = [];
    for (const fate of [REFUSED, REFUSED, {}, REFUSED]) {
      meet(scene, () => fate);
      scene.node().mount("web");
      await scene.report();
      await scene.pass(1);
      scene.node().unmount("web");
      await scene.report();
      await scene.pass(20);
      counts.push(warned(scene).length);
    }

    expect(counts).toEqual([1, 1, 1, 2]);
  });

  it("is forgotten with the claim, also where that goes while the answer is under way", async () => {
    const { scene, writes } = await begun([{}], () => ({ ...REFUSED, requestMs: 5_000 }));
    await scene.house.until(() => writes.length === 1);
    scene.house.api.delete(CLAIM);

    await scene.pass(600);

    expect([writes.length, await scene.leader.metric("mooring_status_writes_refused")]).toEqual([1, 0]);
  });
});

describe("a claim that changes while its status is on the way", () => {
  const annotate = ({ house }: Scene): unknown =>
    house.api.update(CLAIM, (claim) => ({ ...claim, metadata: { ...claim.metadata, annotations: { by: "another" } } }));
  const recreate = ({ house }: Scene): void => {
    house.api.delete(CLAIM);
    house.create(CLAIM.resource, { metadata: { name: "data", namespace: "shop", uid: "uid-2" }, spec: {} });
  };

  it.each([
    { name: "is decided on again, where it has other annotations", change: annotate, isWritten: true },
    { name: "gets nothing that was decided for an earlier claim of its name", change: recreate, isWritten: false },
  ])("$name", async ({ change, isWritten }) => {
    const scene = await leadingScene({ claims: [{}, { name: "other" }] });
    let isFirst = true;
    const writes = meet(scene, (key) => {
      if (key !== "shop/data" || !isFirst) return {};
      isFirst = false;
      return { meanwhile: () => change(scene), answerMs: () => 5 };
    });

    await scene.report();
    await scene.pass(1);

    expect(await scene.leader.metric("mooring_status_writes_total", 'outcome="stale"')).toBe(1);
    expect(stored(scene).includes("shop/data")).toBe(isWritten);
    expect(writes.filter(({ key }) => key === "shop/data")).toHaveLength(isWritten ? 2 : 1);
  });
});

describe("an account without the permission to write", () => {
  it("is tried in each namespace, and the check names three and counts the others", async () => {
    const namespaces = ["a", "b", "c", "d", "e", "free"];
    const claims = namespaces.map((namespace) => ({ namespace, name: `of-${namespace}` }));
    const { scene } = await begun(claims, (key) => (key.startsWith("free/") ? {} : FORBIDDEN));
    await scene.pass(1);
    const readiness = await scene.leader.readiness();
    meet(scene, (key) => (key.startsWith("e/") ? FORBIDDEN : {}));
    await scene.pass(5);

    expect(readiness).toMatch(new RegExp(`${DENIED} in [a-e], [a-e], [a-e] and 2 more: `));
    expect(warned(scene)).toEqual([]);
    expect(stored(scene)).toEqual(["a/of-a", "b/of-b", "c/of-c", "d/of-d", "free/of-free"]);
    expect(await scene.leader.readiness()).toContain(`${DENIED} in e: `);
  });

  it("is no longer reported missing when the claims that needed it are gone", async () => {
    const { scene } = await begun([{}], () => FORBIDDEN);
    await scene.pass(1);
    const before = await scene.leader.readiness();
    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([before.includes(`${DENIED} in shop: `), await scene.leader.readiness()]).toEqual([
      true,
      expect.stringContaining("[+]writes ok\n"),
    ]);
  });

  it("counts as present again when the API server refuses a status for its content", async () => {
    const { scene } = await begun([{}], () => FORBIDDEN);
    await scene.pass(1);

    meet(scene, () => REFUSED);
    await scene.pass(10);

    expect([await scene.leader.readiness(), warned(scene)]).toEqual([
      expect.stringContaining("[+]writes ok\n"),
      [["data", "write-refused"]],
    ]);
  });
});

describe("an API server that answers", () => {
  it.each([
    { name: "fails", fate: FAILED, level: "warn" },
    { name: "permits no write", fate: FORBIDDEN, level: "error" },
  ])("and $name is asked a few times a second at most, with one line in three minutes", async ({ fate, level }) => {
    const { scene, writes } = await begun(named(300), () => fate);
    await scene.pass(60);
    const before = writes.length;
    await scene.pass(60);
    const tried = writes.length - before;
    meet(scene, () => ({}));
    await scene.pass(80);

    expect(scene.leader.logger.messages().includes("claim status may be written again")).toBe(fate === FORBIDDEN);
    expect([tried > 0, tried <= (16 * 60) / 5, stored(scene).length]).toEqual([true, true, 300]);
    const lines = scene.leader.logger.lines.filter((line) => line.level === level);
    expect(lines.map(({ fields }) => fields.failures)).toEqual([1]);
  });

  it("makes a worker rest for half a minute at most, whatever time it asks for", async () => {
    const { scene, writes } = await begun(named(17), () => ({ refusal: { status: 503, retryAfterS: 300 } }));
    await scene.pass(20);
    const before = writes.length;
    await scene.pass(20);

    expect([before, writes.length]).toEqual([16, 17]);
  });

  it("and permits no write of one claim is logged once in three minutes, not each minute", async () => {
    const { scene } = await begun([{}], () => FORBIDDEN);
    await scene.pass(1_800);

    const lines = scene.leader.logger.lines.filter(({ level }) => level === "error");
    expect(lines.map(({ fields }) => fields.failures).slice(0, 2)).toEqual([1, 10]);
    expect(lines.length).toBeLessThanOrEqual(10);
  });

  it("makes no worker rest for longer any more after a success, and is logged again some minutes later", async () => {
    const { scene } = await begun(named(100), () => FAILED);
    await scene.pass(60);
    meet(scene, () => ({}));
    await scene.pass(240);
    const written = stored(scene).length;
    const before = scene.leader.logger.messages("warn").length;

    const writes = meet(scene, () => FAILED);
    scene.addPod("web", { claim: "data-0" });
    await scene.pass(1);

    expect([written, writes.length]).toEqual([100, 2]);
    expect(scene.leader.logger.messages("warn")).toHaveLength(before + 1);
  });

  it("delays no other claim where it never answers the write of one", async () => {
    const { scene } = await begun([{}], () => ({ lost: "request" }));
    await scene.pass(30);

    for (const claim of named(50)) addClaim(scene.house, claim);
    meet(scene, () => ({}));
    await scene.pass(2);

    expect(stored(scene)).toHaveLength(50);
  });
});

describe("what another client changes", () => {
  const STRAY = "mooring.dev/unused-since";

  function withoutStatus(claim: ApiObject): ApiObject {
    return { ...claim, status: { phase: "Bound" } };
  }

  function withStray(claim: ApiObject): ApiObject {
    const { metadata } = claim;
    return {
      ...claim,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [STRAY]: "2026-01-01T00:00:00Z" } },
    };
  }

  it.each([
    { name: "the status", change: withoutStatus, isMounted: false },
    { name: "an annotation that does not fit", change: withStray, isMounted: true },
  ])("each second is put right less and less often, and reported once: $name", async ({ change, isMounted }) => {
    const scene = await leadingScene();
    if (isMounted) scene.node().mount("web");
    await scene.report();
    await scene.pass(1);
    const writes: number[] = [];
    scene.house.api.observe(({ by, resource }) => {
      if (by !== undefined && resource === "persistentvolumeclaims") writes.push(scene.seconds);
    });

    for (let second = 0; second < 100; second += 1) {
      scene.house.api.update(CLAIM, change, { subresource: "status" });
      await scene.pass(1);
    }

    expect(writes.length).toBeGreaterThan(3);
    expect(writes.length).toBeLessThan(12);
    expect(warned(scene)).toEqual([["data", "put-back"]]);
  });
});
