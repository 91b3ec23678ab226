import * as v from "valibot";
import { parseTimestamp } from "../../../../common/storage/timestamp.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, runPod } from "../pods.ts";
import { type Scenario, type Truth, UNMOUNTED } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { BUDGET_MS } from "../witness.ts";
import { untilMounted } from "./conditions.ts";
import { listOf } from "./mooring.ts";

const NODE: NodeName = "node-2";

/** A mount that is nobody's use and stays for ever. */
export const STAGING_FAILURES: readonly Scenario[] = [
  {
    name: "a driver that leaves its staging mount behind",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const driver = stage.driver("attached", NODE);
      driver.misbehave({ call: "NodeUnstageVolume", volume, effect: { kind: "pretend" } });
      const pod = await runPod(stage, { name: claim, node: NODE, claim });
      await untilMounted(stage, claim);
      await deletePod(stage, pod);
      const truth = await endOfUse(stage, volume, [pod]);
      await driver.until(
        `the pretended unstage of ${claim}`,
        (line) => line.kind === "call-ended" && line.call === "NodeUnstageVolume" && line.volume === volume,
      );
      await stage.until("the staging mount in the list of volumes", () => requireStaged(stage, volume, truth));
      return truth;
    },
  },
];

const staged = v.tuple([
  v.object({
    live: v.object({
      mountedOn: v.object({ items: v.array(v.unknown()) }),
      stagedOn: v.object({ items: v.array(v.object({ node: v.string(), unusedSince: v.nullable(v.string()) })) }),
    }),
  }),
]);

/** Throws a HarnessError unless the volume is listed as staged on the node, and unused there since its use ended. */
async function requireStaged(stage: Stage, volume: string, { afterMs, byMs }: Truth): Promise<void> {
  const [{ live }] = v.parse(staged, await listOf(stage, `/v1/volumes?name=${volume}`));
  const staging = live.stagedOn.items.find(({ node }) => node === NODE);
  const sinceMs = parseTimestamp(staging?.unusedSince ?? "");
  const isRight =
    sinceMs !== undefined && sinceMs >= afterMs && sinceMs <= byMs + BUDGET_MS + stage.starvation(byMs, sinceMs);
  if (!isRight || live.mountedOn.items.length > 0)
    throw new HarnessError(`${volume} is listed as ${JSON.stringify(live)}`);
}
