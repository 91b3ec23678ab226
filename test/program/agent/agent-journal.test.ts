import { afterEach, describe, expect, it } from "vitest";
import type { AgentPorts } from "../../../agent/agent.ts";
import type { NodeState } from "../../../agent/core/node-state.ts";
import { createMemoryJournal, type Journal } from "../../../agent/sinks/journal.ts";
import { createSqliteJournal } from "../../../agent/sinks/sqlite-journal.ts";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { FakeClock } from "../../fakes/clock.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../../fakes/node-states.ts";
import { json } from "../../fakes/transport.ts";
import { JournalFolder } from "../../unit/agent/sinks/journal-folder.ts";
import { MOUNT, namesIn, startAgent, stopAgents, TOKEN } from "./started-agent.ts";

afterEach(stopAgents);

const NOT_USABLE = "journal cannot be used, what a restart forgets will be a gap";

/** A journal that a test gives its faults, and whose content outlives agents. */
function createFaultyJournal(stored?: NodeState) {
  let fault: string | undefined;
  let gate: Promise<void> = Promise.resolve();
  let open = (): void => {};
  const meet = (): void => {
    if (fault !== undefined) throw new MooringError("journal-unusable", fault);
  };
  const content = { stored };
  const journal: Journal = {
    place: "/journal",
    load: async () => {
      meet();
      return content.stored;
    },
    store: async (state) => {
      await gate;
      meet();
      content.stored = state;
    },
  };
  return {
    journal,
    content,
    fail: (why: string | undefined): void => {
      fault = why;
    },
    mountedVolume: (): void => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    letGo: (): void => open(),
  };
}

/** Lets time pass, and the disk work, until something is so; ten minutes at most. */
async function passUntil({ advance }: Pick<FakeClock, "advance">, condition: () => boolean): Promise<void> {
  const disk = createSystemClock();
  // The disk is a real one, and a busy machine makes it slow.
  for (const began = disk.monotonicMs(); disk.monotonicMs() - began < 30_000 && !condition(); ) {
    await advance(1_000);
    await disk.sleep(1);
  }
}

/** An hour before the agent of a test starts, on the boot clock. */
const EARLIER = { beganAt: 1_799_000, endedAt: 1_799_001 };

describe("an agent with a journal", () => {
  it("reports only what the journal has", async () => {
    const disk = createFaultyJournal();
    disk.mountedVolume();
    const { bodies, advance } = await startAgent({ mounts: [TOKEN, MOUNT], ports: () => ({ journal: disk.journal }) });
    await advance(60_000);
    const early = [...bodies];

    disk.letGo();
    await advance(1_000);

    expect(early).toEqual([]);
    expect(namesIn(bodies[0])).toEqual(["pv-1"]);
    expect(disk.content.stored?.mountedVolumes.size).toBe(1);
  });

  it("reports only what the journal has, also when it sends a report again meanwhile", async () => {
    const disk = createFaultyJournal();
    const { bodies, table, mountNotifier, advance } = await startAgent({
      ports: () => ({ journal: disk.journal }),
      answer: () => ({ status: 503, body: "not now" }),
    });
    await advance(1_000);
    disk.mountedVolume();
    table.mount(MOUNT);
    mountNotifier.change();
    const before = bodies.length;

    await advance(20_000);
    const reported = bodies.slice(before).map(namesIn);
    disk.letGo();

    expect(reported.length).toBeGreaterThan(0);
    expect(reported.flat()).toEqual([]);
  });

  it("after a restart reports what was unmounted meanwhile, and its gap", async () => {
    const { journal } = createFaultyJournal(
      nodeState({
        mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { since: 1_000, seenAt: 1_000 })),
        scan: EARLIER,
        agentGaps: [{ to: 900 }],
      }),
    );

    const { bodies, advance } = await startAgent({ ports: () => ({ journal }) });
    await advance(1_000);

    const by = bodies[0]?.scan.endedAt ?? 0;
    expect(by).toBeGreaterThanOrEqual(1_800_000);
    expect(bodies.at(-1)).toMatchObject({
      unmountRecords: [{ podUid: "u1", after: EARLIER.beganAt, by }],
      agentGaps: [{ to: 900 }, { from: EARLIER.beganAt, to: by }],
      observedSince: by,
      mountedVolumes: [],
    });
  });

  it.each([
    { name: "where the machine never had a journal", isNew: () => true, stored: undefined, firstBoot: true },
    { name: "not where the journal was lost", isNew: () => false, stored: undefined, firstBoot: undefined },
    { name: "not where the journal ends with the process", isNew: undefined, stored: undefined, firstBoot: undefined },
    {
      name: "not where an earlier boot left a journal",
      isNew: () => false,
      stored: nodeState({ bootId: "boot-0", isFirstBoot: true, scan: EARLIER }),
      firstBoot: undefined,
    },
    {
      name: "by a later run in the same boot",
      isNew: () => false,
      stored: nodeState({ isFirstBoot: true, scan: EARLIER }),
      firstBoot: true,
    },
  ])("reports the first boot: $name", async ({ isNew, stored, firstBoot }) => {
    const { journal } = createFaultyJournal(stored);

    const { bodies, advance } = await startAgent({
      ports: () => ({ journal: isNew ? { ...journal, isNew } : journal }),
    });
    await advance(1_000);

    expect(bodies.at(-1)?.firstBoot).toBe(firstBoot);
  });

  it("reports nothing of an earlier run before its own first complete scan", async () => {
    const { journal } = createFaultyJournal(nodeState({ scan: EARLIER, unmountRecords: [unmountRecordOf(2)] }));

    const { bodies, url, advance } = await startAgent({ mounts: [], ports: () => ({ journal }) });
    await advance(60_000);

    expect(bodies).toEqual([]);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  it("continues without a usable journal, logs that once, and stays ready", async () => {
    const disk = createFaultyJournal();
    disk.fail("the disk is full");
    const { bodies, url, logger, advance } = await startAgent({ ports: () => ({ journal: disk.journal }) });
    await advance(200_000);

    const ready = await fetch(`${url}/readyz?verbose`);

    expect(bodies).not.toEqual([]);
    expect(logger.lines.filter(({ message }) => message === NOT_USABLE)).toMatchObject([
      { level: "warn", fields: { why: "the disk is full" } },
    ]);
    expect(ready.status).toBe(200);
    expect(await ready.text()).toContain("[+]journal ok (degraded): without one: the disk is full");
  });

  it("stores everything once the journal is usable again", async () => {
    const disk = createFaultyJournal();
    const { table, logger, mountNotifier, advance } = await startAgent({ ports: () => ({ journal: disk.journal }) });
    await advance(1_000);
    disk.fail("the disk is full");
    table.mount(MOUNT);
    mountNotifier.change();
    await advance(1_000);
    expect(disk.content.stored?.mountedVolumes.size).toBe(0);

    disk.fail(undefined);
    await advance(40_000);

    expect(disk.content.stored?.mountedVolumes.size).toBe(1);
    expect(logger.messages()).toContain("journal is used again");
  });

  it("does not take its own older state for another agent's once the journal is usable again", async () => {
    const disk = createFaultyJournal();
    let forget: readonly string[] = [];
    const { table, bodies, mountNotifier, advance } = await startAgent({
      mounts: [TOKEN, MOUNT],
      ports: () => ({ journal: disk.journal }),
      answer: () => json({ forget }),
    });
    await advance(1_000);
    disk.fail("the disk is full");
    table.unmount(MOUNT);
    mountNotifier.change();
    await advance(1_000);
    const reported = bodies.at(-1)?.unmountRecords ?? [];
    forget = reported.map(({ id }) => id);
    await advance(40_000);

    disk.fail(undefined);
    await advance(80_000);

    expect(reported).toMatchObject([{ podUid: "u1" }]);
    expect(bodies.at(-1)).toMatchObject({ mountedVolumes: [], unmountRecords: [] });
    expect(disk.content.stored).toMatchObject({ mountedVolumes: new Map(), unmountRecords: [] });
  });

  it("takes over what another agent of the node leaves in the journal, and reports it at once", async () => {
    const disk = createFaultyJournal();
    disk.fail("another agent holds it");
    const { bodies, clock, advance } = await startAgent({ ports: () => ({ journal: disk.journal }) });
    await advance(35_000);
    const scan = { beganAt: clock.monotonicMs() - 2, endedAt: clock.monotonicMs() - 1 };
    disk.content.stored = nodeState({
      mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: scan.beganAt })),
      unmountRecords: [unmountRecordOf(2)],
      scan,
      agentGaps: [{ to: 900 }],
    });
    expect(bodies.at(-1)).toMatchObject({ unmountRecords: [], agentGaps: [{ to: expect.any(Number) }] });

    disk.fail(undefined);
    await advance(31_000);

    expect(bodies.at(-1)?.unmountRecords).toMatchObject([
      { podUid: "u2", after: 20, by: 30 },
      { podUid: "u1", after: scan.beganAt },
    ]);
    expect(bodies.at(-1)?.agentGaps).toEqual([{ to: 900 }]);
  });

  it("is the only one of two agents that uses the journal, and the other continues where it ends", async () => {
    await using folder = new JournalFolder();
    const portsOf =
      (run: string) =>
      ({ clock, logger, metrics, random }: AgentPorts) => ({
        random: { ...random, id: () => run },
        // Virtual time does not wait for a disk.
        journal: createSqliteJournal(
          { clock, logger, metrics, bringToDisk: async () => {} },
          { directory: folder.path, node: "node-1" },
        ),
      });
    const first = await startAgent({ mounts: [TOKEN, MOUNT], ports: portsOf("run-1") });
    await passUntil(first, () => first.bodies.length > 0);
    const second = await startAgent({ mounts: [TOKEN], ports: portsOf("run-2") });
    await passUntil(second, () => second.bodies.length > 0);
    const alone = second.bodies.at(-1);
    first.stop.abort();
    await first.running;

    await passUntil(second, () => (second.bodies.at(-1)?.unmountRecords.length ?? 0) > 0);

    expect(second.logger.lines.filter(({ message }) => message === NOT_USABLE)).toMatchObject([
      { fields: { why: expect.stringContaining("another agent holds it") } },
    ]);
    expect(second.logger.messages()).toContain("journal is used again");
    expect(alone).toMatchObject({ unmountRecords: [], mountedVolumes: [] });
    expect(second.bodies.at(-1)).toMatchObject({
      unmountRecords: [{ podUid: "u1", pod: "team/web" }],
      mountedVolumes: [],
    });
  });

  it("stores what the agent saw up to its stop", async () => {
    const disk = createFaultyJournal();
    const { clock, table, bodies, stop, running, advance } = await startAgent({
      mounts: [TOKEN, MOUNT],
      ports: () => ({ journal: disk.journal }),
    });
    await advance(10_000);
    table.unmount(MOUNT);
    const [before, stoppedAt] = [bodies.length, clock.monotonicMs()];

    stop.abort();
    await running;

    expect(disk.content.stored?.scan?.beganAt).toBeGreaterThanOrEqual(stoppedAt);
    expect(disk.content.stored).toMatchObject({ mountedVolumes: new Map(), unmountRecords: [{ podUid: "u1" }] });
    expect(bodies).toHaveLength(before);
  });

  it("shows that it has no journal when no directory is given", async () => {
    const { url, advance } = await startAgent({ ports: () => ({ journal: createMemoryJournal() }) });
    await advance(1_000);

    expect(await (await fetch(`${url}/readyz?verbose`)).text()).toContain(
      "[+]journal ok: none that outlives this process",
    );
  });
});
