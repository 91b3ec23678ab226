import { afterEach, describe, expect, it } from "vitest";
import { initialState } from "../../../agent/core/node-state.ts";
import { createMemoryJournal } from "../../../agent/sinks/journal.ts";
import { createMountNotifier } from "../../../agent/sources/mount-notifier.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { isReport } from "../../../common/storage/node-report.ts";
import { settle } from "../../fakes/clock.ts";
import { json } from "../../fakes/transport.ts";
import { MOUNT, namesIn, startAgent, stopAgents, TOKEN } from "./started-agent.ts";

afterEach(stopAgents);

describe("an agent", () => {
  it("reports what it finds when it starts, below the path of the aggregator's URL", async () => {
    const { bodies, paths, advance } = await startAgent({ mounts: [TOKEN, MOUNT] });
    await advance(200);

    expect(namesIn(bodies[0])).toEqual(["pv-1"]);
    expect(paths[0]).toBe("/mooring/v1/nodes/node-1/report");
  });

  it("reports the resource version of its pod watch at the begin of the scan", async () => {
    const { messages, advance } = await startAgent();
    await advance(200);

    expect(messages.at(-1)?.podsResourceVersion).toBe("100");
  });

  it("reports a mount after the debounce, with the name of its pod", async () => {
    const { table, mountNotifier, bodies, advance } = await startAgent();
    await advance(1_000);
    const before = bodies.length;

    table.mount(MOUNT);
    mountNotifier.change();
    await advance(99);
    expect(bodies).toHaveLength(before);
    await advance(1);

    expect(bodies.at(-1)?.mountedVolumes).toMatchObject([{ podUid: "u1", pod: "team/web" }]);
  });

  it("reports a mount right after its start as soon as any other, though its first scan was slow", async () => {
    let slowMs = 300;
    const { table, mountNotifier, bodies, advance } = await startAgent({
      ports: ({ clock, mountInfo }) => ({
        mountInfo: {
          read: async () => {
            await clock.sleep(slowMs);
            slowMs = 0;
            return await mountInfo.read();
          },
        },
      }),
    });
    await advance(300);

    table.mount(MOUNT);
    mountNotifier.change();
    await advance(200);

    expect(namesIn(bodies.at(-1))).toEqual(["pv-1"]);
  });

  it("logs how many volumes the first scan shows, not how many were known before it", async () => {
    const others = ["pv-2", "pv-3"].map((pv) => MOUNT.replace("pv-1", pv));

    const { logger } = await startAgent({ mounts: [TOKEN, MOUNT, ...others] });

    const line = logger.lines.find(({ message }) => message === "mount table is read completely");
    expect(line?.fields).toMatchObject({ mountedVolumes: 3 });
  });

  it("does not count a pending unmount as shown", async () => {
    const { table, mountNotifier, url, advance } = await startAgent({ mounts: [TOKEN, MOUNT], phase: "Pending" });
    const count = async (): Promise<string | undefined> =>
      /^mooring_mounted_volumes (.*)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
    const before = await count();

    table.unmount(MOUNT);
    mountNotifier.change();
    await advance(1_000);

    expect([before, await count()]).toEqual(["1", "0"]);
  });

  it("serves its debug page on this node only", async () => {
    const { logger, advance } = await startAgent({ mounts: [TOKEN, MOUNT] });
    await advance(1_000);
    const url = String(logger.lines.find(({ message }) => message === "agent started")?.fields.debug);

    const { mountedVolumes, bootId } = JSON.parse(await (await fetch(`${url}/debug/mounted-volumes`)).text());

    expect(bootId).toBe("boot-1");
    expect(mountedVolumes).toMatchObject([
      { kind: "pod", volume: "name/pv-1", podUid: "u1", pod: "team/web", firstSeenAgeMs: 1_000 },
    ]);
    expect(mountedVolumes[0].mountPoint).toContain("/pods/u1/volumes/");
  });

  it("logs once a mount without a known user for five minutes", async () => {
    const { logger, url, advance } = await startAgent({ mounts: [TOKEN, MOUNT.replace("/u1/", "/u9/")] });
    await advance(290_000);
    const early = [...logger.messages("warn")];

    for (let minutes = 0; minutes < 5; minutes += 1) await advance(60_000);

    const metrics = await (await fetch(`${url}/metrics`)).text();
    const isLeak = (message: string): boolean => message === "mount left behind";
    expect(early.filter(isLeak)).toHaveLength(0);
    expect(logger.messages("warn").filter(isLeak)).toHaveLength(1);
    expect(metrics).toContain('mooring_leaked_mounts{kind="orphaned"} 1');
  });

  it("sends heartbeats while the aggregator has the state, and a whole report on request", async () => {
    let isKnown = true;
    const { messages, advance } = await startAgent({
      mounts: [TOKEN, MOUNT],
      answer: () => json({ forget: [], ...(isKnown ? {} : { whole: true }) }),
    });
    await advance(1_000);
    const first = messages.findIndex(isReport);

    await advance(30_000);
    const kept = messages.slice(first + 1).map(isReport);
    isKnown = false;
    await advance(30_000);
    isKnown = true;
    await advance(1_000);

    expect(kept).not.toContain(true);
    expect(messages.slice(-2).map(isReport)).toContain(true);
  });

  it("answers a scan request during the debounce of a change by the scan after it", async () => {
    const { mountNotifier, messages, advance } = await startAgent();
    await advance(1_000);
    const before = messages.length;

    mountNotifier.change();
    await advance(99);
    mountNotifier.request();
    await advance(1);

    expect(messages).toHaveLength(before + 1);
  });

  it("answers a scan request by the next scan, although mounts that are no volumes change all the time", async () => {
    const { mountNotifier, messages, advance } = await startAgent();
    await advance(1_000);
    const before = messages.length;

    for (let ms = 0; ms < 500; ms += 50) {
      mountNotifier.change();
      if (ms === 100) mountNotifier.request();
      await advance(50);
    }

    expect(messages).toHaveLength(before + 1);
  });

  it("reports an unmount record until the aggregator acknowledges it", async () => {
    let forget: readonly string[] = [];
    const { table, mountNotifier, bodies, messages, advance } = await startAgent({
      mounts: [TOKEN, MOUNT],
      answer: () => json({ forget }),
    });
    await advance(1_000);

    table.unmount(MOUNT);
    mountNotifier.change();
    await advance(100);
    expect(bodies.at(-1)).toMatchObject({ mountedVolumes: [], unmountRecords: [{ podUid: "u1" }] });
    const reported = messages.length;
    await advance(8_000);
    const again = messages.length - reported;
    forget = bodies.at(-1)?.unmountRecords.map(({ id }) => id) ?? [];
    await advance(60_000);

    // Only another answer shows whether it was written, so the agent reports it again soon.
    expect(again).toBe(1);
    expect(bodies.at(-1)?.unmountRecords).toEqual([]);
  });

  it("reports a clock sample of when an answer arrived with the API server's time", async () => {
    const nowMs = 1_789_000_000_000;
    const { clock, messages, advance } = await startAgent({ answer: () => json({ forget: [], nowMs }) });
    await advance(1_000);
    await advance(40_000);

    const [first, ...others] = messages;
    expect(first).not.toHaveProperty("clockSamples");
    for (const { clockSamples = [], sentAt } of others) {
      expect(clockSamples.map(({ ms }) => ms)).toEqual(clockSamples.map(() => nowMs));
      expect(clockSamples.at(-1)?.at).toBeGreaterThanOrEqual(first?.sentAt ?? Number.NaN);
      expect(clockSamples.at(-1)?.at).toBeLessThanOrEqual(sentAt);
    }
    expect(clock.monotonicMs() - (messages.at(-1)?.clockSamples?.at(-1)?.at ?? 0)).toBeGreaterThan(10_000);
  });

  it.each([
    { name: "for the first time", knownMs: 0, awayMinutes: 1, more: 1 },
    { name: "after a long time", knownMs: 10_000, awayMinutes: 10, more: 1 },
    { name: "as often as always", knownMs: 10_000, awayMinutes: 1, more: 0 },
  ])(
    "scans and reports again when it is answered $name, if its last scan cannot be dated well",
    async ({ knownMs, awayMinutes, more }) => {
      const countReports = async (time: { readonly nowMs?: number }): Promise<number> => {
        let isAway = knownMs === 0;
        const { messages, advance } = await startAgent({
          answer: () => (isAway ? "broken" : json({ forget: [], ...time })),
        });
        await advance(knownMs);
        isAway = true;
        for (let minute = 0; minute < awayMinutes; minute += 1) await advance(60_000);
        isAway = false;
        const before = messages.length;
        await advance(12_000);
        return messages.length - before;
      };

      expect(await countReports({ nowMs: 1_789_000_000_000 })).toBe((await countReports({})) + more);
    },
  );

  it("reports at once when a pod ended, although no mount changed", async () => {
    const { watch, pod, messages, advance } = await startAgent();
    await advance(1_000);
    const before = messages.length;

    watch.writeLine({ type: "DELETED", object: { ...pod, metadata: { ...pod.metadata, resourceVersion: "123" } } });
    await advance(100);

    expect(messages.length).toBe(before + 1);
    expect(messages.at(-1)?.podsResourceVersion).toBe("123");
  });

  it("scans and reports at once when its last scan is too old for the aggregator", async () => {
    const asks: boolean[] = [];
    const { messages, advance } = await startAgent({
      answer: () => json({ forget: [], ...(asks.pop() === true ? { scanRequest: "session/1" } : {}) }),
    });
    await advance(1_000);
    const before = messages.length;

    asks.push(true);
    await advance(36_000);

    const [heartbeat, handOver, ...more] = messages.slice(before);
    expect(handOver?.scan.beganAt).toBeGreaterThanOrEqual(heartbeat?.sentAt ?? Number.POSITIVE_INFINITY);
    expect((handOver?.sentAt ?? 0) - (heartbeat?.sentAt ?? 0)).toBeLessThan(1_000);
    expect(more).toEqual([]);
  });

  it("does not report mounts that are no volumes", async () => {
    const { table, mountNotifier, bodies, advance } = await startAgent();
    await advance(1_000);
    const before = bodies.length;

    table.mount("/home/somebody");
    mountNotifier.change();
    await advance(1_000);

    expect(bodies).toHaveLength(before);
    expect(table.reads()).toBeGreaterThan(1);
  });

  it("sends a heartbeat although mounts elsewhere change all the time", async () => {
    const { mountNotifier, messages, advance } = await startAgent();
    await advance(1_000);
    const before = messages.length;

    for (let second = 0; second < 61; second += 1) {
      mountNotifier.change();
      await advance(1_000);
    }

    expect(messages.length - before).toBe(2);
  });

  it("sends heartbeats where it cannot poll the mount table, and scans every two seconds", async () => {
    const { table, messages, advance } = await startAgent({
      ports: (ports) => ({ mountNotifier: createMountNotifier("/no/such/table", ports) }),
    });
    await advance(1_000);
    const [reports, reads] = [messages.length, table.reads()];

    await advance(61_000);

    expect(messages.length - reports).toBe(2);
    expect(table.reads() - reads).toBeGreaterThan(25);
    expect(table.reads() - reads).toBeLessThan(35);
  });

  it("scans again soon after a damaged scan, so that it reports an unmount without waiting for the next heartbeat", async () => {
    const { table, mountNotifier, bodies, advance } = await startAgent({ mounts: [TOKEN, MOUNT] });
    await advance(1_000);

    table.unmount(MOUNT);
    table.disturb((text) => text.slice(0, -1));
    mountNotifier.change();
    await advance(2_000);

    expect(bodies.at(-1)?.unmountRecords).toHaveLength(1);
  });

  it.each(["Pending", "Running"] as const)(
    "reports the end of the use of a pod that is being deleted (%s) as soon as it is gone, by the scan that lacked the mount",
    async (phase) => {
      const { table, mountNotifier, watch, pod, bodies, clock, advance } = await startAgent({
        mounts: [TOKEN, MOUNT],
        phase,
      });
      await advance(1_000);
      table.unmount(MOUNT);
      mountNotifier.change();
      await advance(200);
      const readBy = clock.monotonicMs();
      await advance(3_000);
      const waiting = bodies.flatMap(({ unmountRecords }) => unmountRecords);

      watch.writeLine({ type: "DELETED", object: { ...pod, metadata: { ...pod.metadata, resourceVersion: "123" } } });
      await advance(200);

      expect(waiting).toEqual([]);
      expect(bodies.at(-1)).toMatchObject({ mountedVolumes: [], unmountRecords: [{ podUid: "u1" }] });
      expect(bodies.at(-1)?.unmountRecords[0]?.by).toBeLessThanOrEqual(readBy);
      expect(bodies.at(-1)?.podsResourceVersion).toBe("123");
    },
  );

  it("causes no read of etcd in an hour of broken watches", async () => {
    const { watch, requested, advance } = await startAgent({ mode: "audit" });
    await advance(60_000);
    watch.fail(new MooringError("transport-failed", "reset"));

    for (let minutes = 0; minutes < 60; minutes += 1) await advance(60_000);

    const lists = requested.filter(({ verb }) => verb === "list").map(({ collection }) => collection);
    expect(new Set(lists).size).toBe(2);
    expect(lists.length).toBeGreaterThan(4);
    expect(requested.filter(({ isScan }) => isScan)).toEqual([]);
  });

  it("reports the first complete scan after the end of a pod", async () => {
    const { table, watch, pod, messages, advance } = await startAgent();
    await advance(1_000);

    table.disturb(
      (text) => text.slice(0, -1),
      () => undefined,
    );
    watch.writeLine({ type: "DELETED", object: { ...pod, metadata: { ...pod.metadata, resourceVersion: "123" } } });
    await advance(4_000);

    expect(messages.at(-1)?.podsResourceVersion).toBe("123");
  });

  it("records no unmount while scans are incomplete, and logs once why", async () => {
    const { table, mountNotifier, bodies, logger, advance } = await startAgent({ mounts: [TOKEN, MOUNT] });
    await advance(1_000);

    table.unmount(TOKEN);
    table.unmount(MOUNT);
    mountNotifier.change();
    await advance(60_000);

    expect(bodies.at(-1)).toMatchObject({ mountedVolumes: [{ podUid: "u1" }], unmountRecords: [] });
    expect(logger.messages("warn")).toEqual(["mount table cannot be believed, absence does not count"]);
  });

  it("records no unmount of a volume that the confirming scan shows again", async () => {
    const { table, mountNotifier, bodies, advance } = await startAgent({ mounts: [TOKEN, MOUNT] });
    await advance(1_000);

    table.disturb((text) =>
      text
        .split("\n")
        .filter((line) => !line.includes("pv-1"))
        .join("\n"),
    );
    mountNotifier.change();
    await advance(31_000);

    expect(bodies.at(-1)).toMatchObject({ mountedVolumes: [{ podUid: "u1" }], unmountRecords: [] });
  });

  it("stops reporting after three minutes without a complete scan", async () => {
    const { table, bodies, advance } = await startAgent();
    await advance(1_000);

    table.unmount(TOKEN);
    await advance(240_000);
    const before = bodies.length;
    await advance(120_000);

    expect(bodies).toHaveLength(before);
    expect(bodies.at(-1)?.sentAt).toBeLessThan((bodies.at(-1)?.scan.endedAt ?? 0) + 180_000);
  });

  it("is ready once it has scanned the mount table, listed the pods, and a report was accepted", async () => {
    const { url, table, advance } = await startAgent({ mounts: ["/", TOKEN] });
    await advance(1_000);

    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    table.unmount(TOKEN);
    await advance(200_000);
    const withoutScan = await fetch(`${url}/readyz`);

    expect(withoutScan.status).toBe(503);
    expect(await withoutScan.text()).toContain("own pod's token mount is not in the table");
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  });

  it("is not ready before a report was accepted", async () => {
    const { url, advance } = await startAgent({ answer: () => ({ status: 503, body: "not the leader" }) });
    await advance(1_000);

    const answer = await fetch(`${url}/readyz`);

    expect(await answer.text()).toContain("[-]reports failed: no report has been accepted yet");
  });

  it.each([
    { name: "while it waits", begin: async () => {} },
    {
      name: "in the middle of a debounce",
      begin: async ({ mountNotifier }: Awaited<ReturnType<typeof startAgent>>) => mountNotifier.change(),
    },
  ])("stops $name without another report", async ({ begin }) => {
    const agent = await startAgent();
    await agent.advance(1_000);
    const before = agent.bodies.length;
    await begin(agent);
    await settle();

    agent.stop.abort();
    await agent.running;

    expect(agent.bodies).toHaveLength(before);
    expect(agent.logger.messages().at(-1)).toBe("agent stopped");
  });

  it("stops while a report is in flight", async () => {
    const agent = await startAgent({ answer: () => "silence" });
    await agent.advance(1_000);

    agent.stop.abort();
    await agent.running;

    expect(agent.logger.messages("warn")).toEqual([]);
  });

  it.each([
    { name: "reports its own unmount record unchanged in the same boot", bootId: "boot-1", left: { after: 1, by: 2 } },
    {
      name: "reports the unmount record of an earlier boot as ended by the begin of this one",
      bootId: "boot-0",
      left: { by: 0 },
    },
  ])("$name when it is started again", async ({ bootId, left }) => {
    const unmountRecord = { id: "r", volume: { by: "name" as const, name: "pv-9" }, podUid: "u9", after: 1, by: 2 };
    const journal = createMemoryJournal();
    await journal.store({ ...initialState(bootId, { clock: "monotonic-raw" }), unmountRecords: [unmountRecord] });

    const { bodies, advance } = await startAgent({ ports: () => ({ journal }) });
    await advance(1_000);

    const { after: _, by: __, ...same } = unmountRecord;
    expect(bodies.at(-1)?.unmountRecords).toEqual([{ ...same, ...left }]);
  });

  it("logs the node's facts once, and sends them with every report from then on", async () => {
    const { messages, logger, advance } = await startAgent();
    await advance(1_000);
    const early = messages.length;

    await advance(70_000);

    expect(messages.slice(0, early).every(({ facts }) => facts === undefined)).toBe(true);
    expect(messages.slice(early).map(({ facts }) => facts)).toEqual([{ kernel: "6.18.4" }, { kernel: "6.18.4" }]);
    expect(logger.lines.filter(({ message }) => message === "node looked at")).toMatchObject([
      { level: "info", fields: { kernel: "6.18.4", bootId: "boot-1" } },
    ]);
  });

  it("reports and stops as usual while it cannot read the node's facts", async () => {
    const unknown = { facts: {}, bootId: undefined, bootedAt: undefined };
    const read = (signal: AbortSignal): Promise<typeof unknown> =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(unknown));
      });
    const { messages, logger, stop, running, advance } = await startAgent({ ports: () => ({ nodeFacts: { read } }) });
    await advance(1_000);
    const early = messages.length;

    await advance(70_000);
    const late = messages.length;
    stop.abort();
    await running;

    expect(late - early).toBe(2);
    expect(logger.messages().at(-1)).toBe("agent stopped");
  });
});
