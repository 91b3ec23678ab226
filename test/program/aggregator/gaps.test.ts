import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../simulation/engine/api/objects.ts";
import { closeHouses } from "../house.ts";
import { addClaim, addNode, setReady } from "../objects.ts";
import { leadingScene, MIN_MS, Scene } from "./scene.ts";

/** No replica watches pods from the third minute to the thirteenth. All times are minutes. */
const GAP = { from: 3, to: 13 };
const HOST_PATH = { source: { hostPath: { path: "/data" } } };
const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

type Away = readonly (readonly [from: number, to: number])[];

/** What happens on the one node where the volume of a claim can be mounted. */
interface Row {
  readonly name: string;
  readonly isHostPath?: boolean;
  /** The gaps that its agent reports first, and at last. */
  readonly away?: Away;
  readonly later?: Away;
  /** When the machine was started anew, and when its object was deleted and made again. */
  readonly bootAt?: number;
  readonly deletedAt?: number;
  readonly madeAt?: number;
  /** When it reports after the gap. */
  readonly reportsAt?: number;
  /** It has been unreachable since before the gap. */
  readonly isOff?: boolean;
  /** When the claim counts as unused. */
  readonly since: number;
}

/** Ten minutes after the gap a Stale node is waited for no longer. */
const LATE = 26;

const ROWS: readonly Row[] = [
  { name: "stays so where the agent watched", since: 0 },
  { name: "counts as used while the agent was away as well", away: [[5, 7]], since: 7 },
  { name: "counts as used until the agent was back, where that was later", away: [[5, 13.5]], since: 13.5 },
  { name: "stays so where its node was off all the time", isOff: true, away: [[2, 13.5]], since: 0 },
  { name: "counts as used until its node was booted in the gap", bootAt: 7, since: 7 },
  { name: "counts as used for the whole gap where its volume shows no mount", isHostPath: true, since: 13 },
  {
    name: "counts as used until its node was back, where that was deleted in the gap",
    ...{ deletedAt: 5, madeAt: 20, away: [[7, 20.5]], reportsAt: 21, since: 20.5 },
  },
  {
    name: "counts as used until a Stale node was back that was away for longer",
    ...{ away: [[7, 22]], reportsAt: LATE, since: 22 },
  },
  {
    name: "counts as used for the whole gap where a Stale node was away in it",
    ...{ away: [[7, 11]], reportsAt: LATE, since: 13 },
  },
  { name: "counts as used for the whole gap where a Stale node says late that it watched", reportsAt: LATE, since: 13 },
  { name: "stays so where its machine is started anew once it has answered", bootAt: 18, since: 0 },
  { name: "stays so where the agent is replaced while a replica watches again", later: [[24, 25]], since: 0 },
];

/** Rows that happen at once, each on a node of its own. */
class Village extends Scene {
  constructor(rows: readonly Row[]) {
    super({ nodes: [], claims: [] });
    for (const [index, { isHostPath, isOff }] of rows.entries()) {
      this.join(`n${index}`, zoneOf(index));
      const source = isHostPath === true ? HOST_PATH : {};
      addClaim(this.house, { name: `c${index}`, nodeAffinity: onlyIn(zoneOf(index)), ...source });
      if (isOff === true) setReady(this.house, `n${index}`, { status: "Unknown" });
    }
  }

  /** All that comes until a minute, but for what was before now. */
  async play(rows: readonly Row[], until: number): Promise<void> {
    for (let minute = Math.ceil(this.seconds / 30) / 2; minute <= until; minute += 0.5) {
      await untilMinute(this, minute);
      for (const [index, row] of rows.entries()) await this.#act(index, minute, row);
    }
  }

  async #act(index: number, minute: number, row: Row): Promise<void> {
    const { away = [], bootAt, deletedAt, madeAt, reportsAt = 14 } = row;
    const name = `n${index}`;
    if (minute === deletedAt) this.remove(name);
    if (minute === madeAt) addNode(this.house, name, { labels: zoneOf(index) });
    if (minute === bootAt) this.reboot(name);
    if (minute === reportsAt) await reportAway(this, name, away);
  }

  /** Another replica leads, and then one that comes half a minute after that has gone. */
  async changeLeaders(): Promise<void> {
    await this.handOver();
    await this.play(ROWS, LATE);
    await untilMinute(this, LATE + 1.5);
    await this.leader.stop();
    await untilMinute(this, LATE + 2);
    await this.lead();
  }
}

function zoneOf(index: number): { readonly zone: string } {
  return { zone: `z${index}` };
}

function onlyIn({ zone }: { readonly zone: string }): JsonObject {
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }] } };
}

async function untilMinute(scene: Scene, minute: number): Promise<void> {
  await scene.until(minute * 60);
}

/** The agent of a node scans and reports, with these gaps. */
async function reportAway(scene: Scene, name: string, away: Away): Promise<void> {
  const node = scene.node(name);
  for (const [from, to] of away) node.comeBack(node.stampAt(from * MIN_MS), node.stampAt(to * MIN_MS));
  await scene.report(name);
}

/** All nodes report until the gap begins, and again when another replica leads. */
async function throughGap<T extends Scene>(scene: T, meanwhile: () => Promise<void> = async () => {}): Promise<T> {
  for (let minute = 0; minute <= GAP.from; minute += 1) {
    await untilMinute(scene, minute);
    await scene.report();
  }
  await scene.leader.stop();
  await meanwhile();
  await untilMinute(scene, GAP.to);
  await scene.lead();
  return scene;
}

/** In minutes. */
function sinceOf(scene: Scene, claim?: string): number {
  return scene.since(claim) / 60;
}

describe.each([
  { leaders: "one leader", isChanged: false },
  { leaders: "leaders that change, and another gap", isChanged: true },
])("a claim that was idle when no replica watched pods, by $leaders", ({ isChanged }) => {
  let village: Village;
  beforeAll(async () => {
    village = new Village(ROWS);
    await village.lead();
    await throughGap(village, () => village.play(ROWS, GAP.to - 1));
    await village.play(ROWS, LATE - 2);
    if (isChanged) await village.changeLeaders();
    await village.play(ROWS, LATE);
    await untilMinute(village, LATE + 3);
    for (const [index, { later = [] }] of ROWS.entries()) await reportAway(village, `n${index}`, later);
    await village.pass(60);
  });
  afterAll(closeHouses);

  // Such a volume counts as used in each gap.
  it.each(ROWS.filter(({ isHostPath }) => !(isHostPath && isChanged)))("$name", (row) => {
    expect(sinceOf(village, `c${ROWS.indexOf(row)}`)).toBe(row.since);
  });

  it("is not written again by the next leader, whatever agents go on to do", async () => {
    const statuses = village.watchStatuses();

    await village.handOver();
    for (const name of village.nodes.keys()) await reportAway(village, name, [[LATE + 3, LATE + 4]]);
    await village.pass(120);

    expect(statuses).toEqual([]);
  });
});

describe("a claim whose volume can be mounted on several nodes", () => {
  afterEach(closeHouses);

  it("is moved once, however many agents were away", async () => {
    const scene = await throughGap(await leadingScene({ nodes: ["n1", "n2", "n3"] }));
    const statuses = scene.watchStatuses();

    for (const [name, to] of [["n1", 7] as const, ["n2", 9] as const, ["n3", 8] as const]) {
      await scene.pass(15);
      await reportAway(scene, name, [[5, to]]);
    }
    await scene.pass(120);

    expect([statuses.length, sinceOf(scene)]).toEqual([1, 9]);
  });

  it.each([
    { name: "where neither watched", away: [[8, 11]], since: 11, early: true },
    { name: "unless its agent watched all the time", away: [], since: 7, early: true },
    { name: "until the agent there was back, where that was later", away: [[5, 15]], since: 15, early: true },
    {
      name: "for the whole gap where that node does not report for ten minutes",
      away: undefined,
      since: 13,
      early: false,
    },
  ] as const)(
    "and that was in use may have been used on another node after that, $name",
    async ({ away, since, early }) => {
      const scene = await leadingScene({ nodes: ["n1", "n2"] });
      scene.addPod("web");
      scene.node().mount("web");
      await throughGap(scene, async () => {
        await untilMinute(scene, 7);
        scene.deletePod("web");
        scene.node().unmount("web");
      });
      await untilMinute(scene, 16);

      if (away !== undefined) await reportAway(scene, "n2", away);
      await scene.report("n1");
      await scene.pass(2);
      const unused = scene.status()?.unused;
      await untilMinute(scene, 24);

      expect(unused).toBe(early);
      expect(scene.status()).toMatchObject({ unused: true, lastUse: { node: "n1", pod: "shop/web" } });
      expect(sinceOf(scene)).toBe(since);
    },
  );
});

describe("a gap before which no replica is known to have watched", () => {
  afterEach(closeHouses);

  it("counts for a claim that was idle before, until its node's agent was back, and for no claim that is made since", async () => {
    const scene = await leadingScene();
    await throughGap(scene, async () => void scene.house.api.delete(LEASE));
    addClaim(scene.house, { name: "new" });
    await untilMinute(scene, 14);

    await reportAway(scene, "n1", [[1, 13.5]]);
    await scene.pass(60);

    expect([sinceOf(scene), sinceOf(scene, "new")]).toEqual([13.5, 14]);
  });
});

describe("a claim that was mounted when leaders changed and its node's agent was replaced", () => {
  afterEach(closeHouses);

  it.each([
    { name: "was lost", from: undefined },
    { name: "was last written before", from: 2 },
  ])("counts as used until its agent is back, by an unknown pod, where the journal $name", async ({ from }) => {
    const scene = await leadingScene();
    const node = scene.node();
    node.mount("web");
    await scene.report();
    await untilMinute(scene, 3);
    await scene.handOver();
    await untilMinute(scene, 5);

    node.lose();
    const noticed = { to: node.stamp - 1 };
    node.agentGaps =
      from === undefined ? [noticed] : [...node.agentGaps, { from: node.stampAt(from * MIN_MS), ...noticed }];
    await scene.report();
    await untilMinute(scene, 8);

    expect(scene.status()).toMatchObject({ unused: true, reason: "NoPodUsing", lastUse: undefined });
    expect(sinceOf(scene)).toBe(5);
  });
});
