import { AGGREGATOR_SCENES } from "./alert-scenes-aggregator.ts";
import { PROTECTION_SCENES } from "./alert-scenes-protection.ts";
import { PROVISIONER_SCENES } from "./alert-scenes-provisioner.ts";
import { STORAGE_SCENES } from "./alert-scenes-storage.ts";

/** What Prometheus has seen, and what comes of it. */
export interface AlertScene {
  readonly alert: string;
  /** Goes on the alert's name: "fires when …". */
  readonly name: string;
  /** Samples a minute in promtool's notation: `1x30` is 1 and 30 times more, `0+2x30` counts up, `_` is none. */
  readonly series: Readonly<Record<string, string>>;
  /** When it is evaluated; by default two hours from the begin. */
  readonly at?: string;
  /** The labels with which it fires, beside its name and severity; without them it keeps quiet. */
  readonly fires?: Readonly<Record<string, string>>;
}

const POD = 'job="mooring-aggregator",pod="a"';
const AGENT = 'job="mooring-agent",node="n1"';
const check = (name: string, endpoint: string): string =>
  `mooring_health_check{${AGENT},endpoint="${endpoint}",check="${name}"}`;
const ofAgent = { job: "mooring-agent", node: "n1" } as const;
const nodes = (state: string): string => `mooring_nodes{${POD},state="${state}"}`;

const NODE_SCENES: readonly AlertScene[] = [
  {
    alert: "MooringNodeSilent",
    name: "fires for one Stale node",
    series: { [nodes("Stale")]: "1x120", [nodes("Reporting")]: "99x120" },
    fires: {},
  },
  {
    alert: "MooringNodeSilent",
    name: "keeps quiet about nodes that have no agent or are gone",
    series: {
      [nodes("Stale")]: "0x120",
      [nodes("NoAgent")]: "5x120",
      [nodes("Gone")]: "1x120",
      [nodes("Reporting")]: "99x120",
    },
  },
  {
    alert: "MooringNodeSilent",
    name: "keeps quiet while agents are replaced node by node",
    series: { [nodes("Stale")]: "0x110 1x9 0x5" },
  },
  {
    alert: "MooringManyNodesSilent",
    name: "fires for a fifth of the nodes",
    series: { [nodes("Stale")]: "20x120", [nodes("Reporting")]: "80x120" },
    fires: {},
  },
  {
    alert: "MooringManyNodesSilent",
    name: "keeps quiet about one in twenty",
    series: { [nodes("Stale")]: "5x120", [nodes("Reporting")]: "95x120" },
  },
  {
    alert: "MooringClockSkew",
    name: "fires for a clock that is late",
    series: { [`mooring_wall_clock_skew_seconds{${AGENT}}`]: "-9x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringClockSkew",
    name: "keeps quiet about a second",
    series: { [`mooring_wall_clock_skew_seconds{${AGENT}}`]: "1x120" },
  },
  {
    alert: "MooringRejectionsPaused",
    name: "fires while the limit holds",
    series: { [`mooring_fleet_rejections_paused{${POD}}`]: "1x120" },
    fires: {},
  },
  {
    alert: "MooringRejectionsPaused",
    name: "keeps quiet when it has let go",
    series: { [`mooring_fleet_rejections_paused{${POD}}`]: "1x110 0x10" },
  },
  {
    alert: "MooringClaimUnusedWhileMounted",
    name: "fires when it lasts an hour",
    series: { [`mooring_claims_unused_while_mounted{${POD}}`]: "2x120" },
    fires: {},
  },
  {
    alert: "MooringClaimUnusedWhileMounted",
    name: "keeps quiet while a pod ends",
    series: { [`mooring_claims_unused_while_mounted{${POD}}`]: "0x110 2x10" },
  },
];

const AGENT_SCENES: readonly AlertScene[] = [
  {
    alert: "MooringAgentsAbsent",
    name: "fires when there is none to scrape",
    series: { [`up{${POD}}`]: "1x120" },
    fires: {},
  },
  { alert: "MooringAgentsAbsent", name: "keeps quiet while one answers", series: { [`up{${AGENT}}`]: "1x120" } },
  {
    alert: "MooringAgentDown",
    name: "fires for the one that does not answer",
    series: { [`up{${AGENT}}`]: "0x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringAgentDown",
    name: "keeps quiet while it is replaced",
    series: { [`up{${AGENT}}`]: "1x110 0x5 1x5" },
  },
  {
    alert: "MooringAgentBlind",
    name: "fires when no scan counts",
    series: { [`mooring_mount_table_complete_scan_age_seconds{${AGENT}}`]: "0+60x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringAgentBlind",
    name: "keeps quiet on an idle node",
    series: { [`mooring_mount_table_complete_scan_age_seconds{${AGENT}}`]: "30x120" },
  },
  {
    alert: "MooringMountTableMalformed",
    name: "fires while lines are damaged",
    series: { [`mooring_mount_table_malformed_lines_total{${AGENT}}`]: "0+2x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringMountTableMalformed",
    name: "keeps quiet when it was once",
    series: { [`mooring_mount_table_malformed_lines_total{${AGENT}}`]: "0x60 2x60" },
  },
  {
    alert: "MooringReportsNotAccepted",
    name: "fires when nobody takes them",
    series: { [`mooring_accepted_report_age_seconds{${AGENT}}`]: "0+60x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringReportsNotAccepted",
    name: "keeps quiet between heartbeats",
    series: { [`mooring_accepted_report_age_seconds{${AGENT}}`]: "35x120" },
  },
  {
    alert: "MooringUnmountRecordsUnacknowledged",
    name: "fires when an end is kept for hours",
    series: { [`mooring_unmount_records_oldest_unacknowledged_seconds{${AGENT}}`]: "0+60x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringUnmountRecordsUnacknowledged",
    name: "keeps quiet when they are stored within minutes",
    series: { [`mooring_unmount_records_oldest_unacknowledged_seconds{${AGENT}}`]: "300x120" },
  },
  {
    alert: "MooringJournalUnusable",
    name: "fires when it cannot be used",
    series: { [`mooring_journal_usable{${AGENT}}`]: "0x120" },
    fires: ofAgent,
  },
  {
    alert: "MooringJournalUnusable",
    name: "keeps quiet where an agent has none by its settings",
    series: { [`up{${AGENT}}`]: "1x120" },
  },
  {
    alert: "MooringMountsLeaked",
    name: "fires for the kind that is left behind",
    series: {
      [`mooring_leaked_mounts{${AGENT},kind="orphaned"}`]: "2x120",
      [`mooring_leaked_mounts{${AGENT},kind="unused-staging"}`]: "0x120",
    },
    fires: { node: "n1", kind: "orphaned" },
  },
  {
    alert: "MooringMountsLeaked",
    name: "keeps quiet while a pod is cleaned up",
    series: { [`mooring_leaked_mounts{${AGENT},kind="orphaned"}`]: "0x100 2x20" },
  },
  {
    alert: "MooringAgentNotReady",
    name: "fires for a check that fails since the start",
    series: { [check("mount-table", "readyz")]: "0x120", [check("pod-watch", "readyz")]: "1x120" },
    fires: { node: "n1", check: "mount-table" },
  },
  {
    alert: "MooringAgentNotReady",
    name: "keeps quiet while all pass",
    series: { [check("mount-table", "readyz")]: "1x120", [check("ping", "livez")]: "0x120" },
  },
  {
    alert: "MooringPolicyNotInForce",
    name: "fires when it is gone",
    series: { [`mooring_affinity_policy_in_force{${AGENT}}`]: "0x120" },
    fires: { node: "n1" },
  },
  {
    alert: "MooringPolicyNotInForce",
    name: "keeps quiet where agents only tell",
    series: { [`up{${AGENT}}`]: "1x120" },
  },
  {
    alert: "MooringPolicyNotInForce",
    name: "keeps quiet while it is changed",
    series: { [`mooring_affinity_policy_in_force{${AGENT}}`]: "1x100 0x20" },
  },
];

export const ALERT_SCENES: readonly AlertScene[] = [
  ...AGGREGATOR_SCENES,
  ...PROTECTION_SCENES,
  ...NODE_SCENES,
  ...STORAGE_SCENES,
  ...AGENT_SCENES,
  ...PROVISIONER_SCENES,
];
