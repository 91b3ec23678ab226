import { killsOf } from "./figures.ts";
import { type CampaignSize, OFTEN_KILLED } from "./plan.ts";
import type { CrashRecord } from "./record.ts";

/** What the campaign planned and did not reach, one sentence each: an incomplete campaign proves nothing. */
export function shortfalls(size: CampaignSize, { kills, uses, checkpoints }: CrashRecord): readonly string[] {
  const unmounts = uses.filter(({ unmounted }) => unmounted !== undefined).length;
  const counts = [
    ...OFTEN_KILLED.map((victim) => ({ what: `kills of the ${victim}`, is: killsOf(kills, victim), of: size.kills })),
    { what: "kills of the kube-apiserver", is: killsOf(kills, "kube-apiserver"), of: size.apiServerKills },
    { what: "unmounts", is: unmounts, of: size.unmounts },
    { what: "rounds", is: checkpoints.filter(({ claim }) => claim === "all").length, of: size.rounds },
  ];
  return counts.filter(({ is, of }) => is < of).map(({ what, is, of }) => `${is} ${what} instead of ${of}`);
}
