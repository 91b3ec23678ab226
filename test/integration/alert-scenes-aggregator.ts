import type { AlertScene } from "./alert-scenes.ts";

const POD = 'job="mooring-aggregator",pod="a"';
const OTHER = 'job="mooring-aggregator",pod="b"';
const check = (name: string): string => `mooring_health_check{${POD},endpoint="readyz",check="${name}"}`;
const ofPod = { job: "mooring-aggregator", pod: "a" } as const;
const writes = (outcome: string): string => `mooring_status_writes_total{${POD},outcome="${outcome}"}`;
const reports = (outcome: string): string => `mooring_reports_received_total{${POD},outcome="${outcome}"}`;
const errors = (where: string): string => `mooring_internal_errors_total{${POD},where="${where}"}`;
const waits = (bound: string): string => `workqueue_queue_duration_seconds_bucket{${POD},name="claims",le="${bound}"}`;
const EXPIRY = `mooring_certificate_expiry_timestamp_seconds{${POD}}`;

export const AGGREGATOR_SCENES: readonly AlertScene[] = [
  {
    alert: "MooringAggregatorsAbsent",
    name: "fires when none answers",
    series: { [`up{${POD}}`]: "0x120" },
    fires: {},
  },
  {
    alert: "MooringAggregatorsAbsent",
    name: "fires when there is none to scrape",
    series: {},
    fires: {},
  },
  {
    alert: "MooringAggregatorsAbsent",
    name: "keeps quiet while one answers",
    series: { [`up{${POD}}`]: "0x120", [`up{${OTHER}}`]: "1x120" },
  },
  {
    alert: "MooringAggregatorsAbsent",
    name: "keeps quiet during a change of two minutes",
    series: { [`up{${POD}}`]: "1x117 0 0 0" },
  },
  {
    alert: "MooringAggregatorDown",
    name: "fires for the one that does not answer",
    series: { [`up{${POD}}`]: "0x120", [`up{${OTHER}}`]: "1x120" },
    fires: ofPod,
  },
  {
    alert: "MooringAggregatorDown",
    name: "keeps quiet when it is back within ten minutes",
    series: { [`up{${POD}}`]: "1x100 0x9 1x20" },
  },
  {
    alert: "MooringNoLeader",
    name: "fires when all are standbys",
    series: {
      [`up{${POD}}`]: "1x120",
      [`leader_election_master_status{${POD}}`]: "0x120",
      [`leader_election_master_status{${OTHER}}`]: "0x120",
    },
    fires: {},
  },
  {
    alert: "MooringNoLeader",
    name: "fires when nobody says whether it leads",
    series: { [`up{${POD}}`]: "1x120" },
    fires: {},
  },
  {
    alert: "MooringNoLeader",
    name: "keeps quiet while one leads",
    series: {
      [`up{${POD}}`]: "1x120",
      [`leader_election_master_status{${POD}}`]: "0x120",
      [`leader_election_master_status{${OTHER}}`]: "1x120",
    },
  },
  {
    alert: "MooringNoLeader",
    name: "leaves it to MooringAggregatorsAbsent when there is none at all",
    series: { [`up{${POD}}`]: "0x120" },
  },
  {
    alert: "MooringNoLeader",
    name: "keeps quiet during a change of leader",
    series: { [`up{${POD}}`]: "1x120", [`leader_election_master_status{${POD}}`]: "1x117 0 0 0" },
  },
  {
    alert: "MooringAggregatorRestarting",
    name: "fires at the fourth start in an hour",
    series: { [`process_start_time_seconds{${POD}}`]: "1x70 2x10 3x10 4x10 5x20" },
    fires: ofPod,
  },
  {
    alert: "MooringAggregatorRestarting",
    name: "keeps quiet when it was started once",
    series: { [`process_start_time_seconds{${POD}}`]: "1x70 2x50" },
  },
  {
    alert: "MooringStatusWritesFailing",
    name: "fires when writes are refused",
    series: { [writes("refused")]: "0+6x120", [writes("written")]: "0+6x120" },
    fires: { outcome: "refused" },
  },
  {
    alert: "MooringStatusWritesFailing",
    name: "keeps quiet when writes only come too late",
    series: { [writes("stale")]: "0+60x120", [writes("written")]: "0+6x120", [writes("cleaned")]: "0+6x120" },
  },
  {
    alert: "MooringStatusWritesFailing",
    name: "keeps quiet about one refusal",
    series: { [writes("refused")]: "0x60 1x60" },
  },
  {
    alert: "MooringQueueSlow",
    name: "fires when one in a hundred waits for minutes",
    series: { [waits("60")]: "0+90x120", [waits("300")]: "0+100x120", [waits("+Inf")]: "0+100x120" },
    fires: { name: "claims" },
  },
  {
    alert: "MooringQueueSlow",
    name: "keeps quiet when all wait for seconds",
    series: { [waits("1")]: "0+100x120", [waits("60")]: "0+100x120", [waits("+Inf")]: "0+100x120" },
  },
  {
    alert: "MooringInternalErrors",
    name: "fires while work on one claim fails each minute",
    series: { [errors("claims")]: "0x100 1+1x20", [errors("reports")]: "0x120" },
    fires: { job: "mooring-aggregator", where: "claims" },
  },
  {
    alert: "MooringInternalErrors",
    name: "fires for a report that failed once",
    series: { [errors("reports")]: "0x115 1x5" },
    fires: { job: "mooring-aggregator", where: "reports" },
  },
  {
    alert: "MooringInternalErrors",
    name: "fires for an agent's pods",
    series: { 'mooring_internal_errors_total{job="mooring-agent",pod="c",where="placement"}': "0x115 1x5" },
    fires: { job: "mooring-agent", where: "placement" },
  },
  {
    alert: "MooringInternalErrors",
    name: "keeps quiet a quarter of an hour after the last one",
    series: { [errors("claims")]: "0x50 3x70" },
  },
  {
    alert: "MooringInternalErrors",
    name: "keeps quiet when a process is started again",
    series: { [errors("claims")]: "7x110 0x10" },
  },
  {
    alert: "MooringReportsRefused",
    name: "fires when somebody has no right to report",
    series: { [reports("unauthenticated")]: "0+6x120" },
    fires: { outcome: "unauthenticated" },
  },
  {
    alert: "MooringReportsRefused",
    name: "keeps quiet about reports that are throttled, put off or accepted",
    series: {
      [reports("throttled")]: "0+60x120",
      [reports("review-failed")]: "0+60x120",
      [reports("accepted")]: "0+60x120",
    },
  },
  {
    alert: "MooringTokenReviewsFailing",
    name: "fires when tokens cannot be reviewed",
    series: { [reports("review-failed")]: "0+6x120" },
    fires: {},
  },
  {
    alert: "MooringTokenReviewsFailing",
    name: "keeps quiet while they are reviewed",
    series: { [reports("accepted")]: "0+60x120", [reports("unauthenticated")]: "0+6x120" },
  },
  {
    alert: "MooringCertificateExpiring",
    name: "fires three days before",
    series: { [EXPIRY]: "180000x180" },
    fires: {},
  },
  {
    alert: "MooringCertificateExpiring",
    name: "keeps quiet a month before",
    series: { [EXPIRY]: "2592000x180" },
  },
  {
    alert: "MooringAggregatorNotReady",
    name: "fires for the check that fails",
    series: { [check("leader")]: "1x120", [check("writes")]: "0x120" },
    fires: { pod: "a", check: "writes" },
  },
  {
    alert: "MooringAggregatorNotReady",
    name: "keeps quiet while it starts",
    series: { [check("cluster")]: "1x100 0x10 1x10" },
  },
];
