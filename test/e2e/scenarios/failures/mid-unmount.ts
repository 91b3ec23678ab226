import { endOfUse } from "../last-use.ts";
import { type Scenario, type Truth, UNMOUNTED } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { type HangingUnmount, hangUnmount } from "./hanging.ts";
import {
  agentOn,
  killProgram,
  leadingAggregator,
  leaseHolder,
  nodeWithoutLeader,
  untilLedByAnother,
  untilNothingIsOpen,
  untilSighted,
} from "./mooring.ts";

/** Something that Mooring needs is killed while a driver hangs in an unmount. */
export const MID_UNMOUNT_FAILURES: readonly Scenario[] = [
  {
    // What ended while no agent looked is dated by the first complete scan of the next one.
    name: "an agent killed in the middle of an unmount, which ends before there is another",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const hanging = await hangUnmount(stage, claim, { node: "node-1" });
      await killAgent(stage, "node-1");
      const truth = await hanging.finish();
      return { ...truth, outageUntilMs: await untilSighted(stage, () => agentOn(stage, "node-1")) };
    },
  },
  {
    name: "an agent killed in the middle of an unmount, which ends when there is another",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const hanging = await hangUnmount(stage, claim, { node: "node-2" });
      await killAgent(stage, "node-2");
      await untilSighted(stage, () => agentOn(stage, "node-2"));
      return await hanging.finish();
    },
  },
  {
    // Agents tell how long ago a use ended: it is published late, but its time is no later than ever.
    name: "the leading aggregator killed in the middle of an unmount, which ends before another leads",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const hanging = await hangUnmount(stage, claim, { node: await nodeWithoutLeader(stage) });
      const holder = await leaseHolder(stage);
      await killProgram(stage, await leadingAggregator(stage));
      const truth = await hanging.finish();
      await untilLedByAnother(stage, holder);
      return truth;
    },
  },
  {
    name: "an API server that is away in the middle of an unmount, which ends before it is back",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const hanging = await hangUnmount(stage, claim, { node: "node-1" });
      const goneMs = stage.owner.clock.wallMs();
      const truth = await whileApiServerIsAway(stage, hanging);
      // A server that was started anew has forgotten where watches were: that is a gap for all replicas.
      await untilNothingIsOpen(stage, goneMs);
      return truth;
    },
  },
];

async function killAgent(stage: Stage, node: NodeName): Promise<void> {
  await killProgram(stage, await agentOn(stage, node));
}

async function whileApiServerIsAway(stage: Stage, { release, volume, pod }: HangingUnmount): Promise<Truth> {
  const server = stage.cluster.plane.part("kube-apiserver");
  await server.kill();
  try {
    release();
    return await endOfUse(stage, volume, [pod]);
  } finally {
    await server.start();
  }
}
