import { makeClaim } from "./claims.ts";
import { endOfUse } from "./last-use.ts";
import { deletePod, runPod } from "./pods.ts";
import type { Scenario } from "./scenario.ts";

const UNMOUNTED = { status: "True", reason: "Unmounted" } as const;

/** What claims are used for on any day. */
export const ORDINARY: readonly Scenario[] = [
  {
    name: "a filesystem volume that is attached and staged is used by a pod that is deleted",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim });
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
];
