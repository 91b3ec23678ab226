import type { AlertScene } from "./alert-scenes.ts";

const POD = 'job="mooring-aggregator",pod="a"';
const OTHER = 'job="mooring-aggregator",pod="b"';
const OLDEST = `mooring_claims_deletion_held_oldest_seconds{${POD}}`;
const leads = (pod: string): string => `leader_election_master_status{${pod}}`;
const mode = (name: string): string => `mooring_protection_mode{${POD},mode="${name}"}`;
const removed = (why: string): string => `mooring_claims_removed_while_mounted_total{${POD},why="${why}"}`;

export const PROTECTION_SCENES: readonly AlertScene[] = [
  {
    alert: "MooringDeletionHeld",
    name: "fires for a claim that has been kept for a quarter of an hour",
    series: { [OLDEST]: "0x100 0+60x20" },
    fires: {},
  },
  {
    alert: "MooringDeletionHeld",
    name: "keeps quiet about one that goes within ten minutes",
    series: { [OLDEST]: "0x100 0+60x10 0x10" },
  },
  {
    alert: "MooringDeletionHeld",
    name: "keeps quiet about many that are kept for minutes, one after the other",
    series: { [OLDEST]: "0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10" },
  },
  {
    alert: "MooringProtectionUnattended",
    name: "fires when protection is enforced and all are standbys",
    series: { [leads(POD)]: "0x120", [leads(OTHER)]: "0x120", [mode("enforce")]: "1x120" },
    fires: {},
  },
  {
    alert: "MooringProtectionUnattended",
    name: "fires when protection was enforced and there is no aggregator any more",
    series: { [leads(POD)]: "1x60", [mode("enforce")]: "1x60" },
    fires: {},
  },
  {
    alert: "MooringProtectionUnattended",
    name: "keeps quiet while one leads",
    series: { [leads(POD)]: "0x120", [leads(OTHER)]: "1x120", [mode("enforce")]: "1x120" },
  },
  {
    alert: "MooringProtectionUnattended",
    name: "keeps quiet where nothing is kept",
    series: { [leads(POD)]: "0x120", [mode("enforce")]: "0x120", [mode("audit")]: "1x120" },
  },
  {
    alert: "MooringProtectionUnattended",
    name: "keeps quiet during a change of leader",
    series: { [leads(POD)]: "1x117 0 0 0", [mode("enforce")]: "1x120" },
  },
  {
    alert: "MooringClaimRemovedWhileMounted",
    name: "fires for one claim, and says what let it go",
    series: { [removed("not-enforced")]: "0x100 1x20", [removed("override")]: "0x120" },
    fires: { why: "not-enforced" },
  },
  {
    alert: "MooringClaimRemovedWhileMounted",
    name: "keeps quiet an hour after the last one",
    series: { [removed("override")]: "0x10 3x110" },
  },
];
