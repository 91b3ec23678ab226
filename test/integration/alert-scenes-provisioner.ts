import type { AlertScene } from "./alert-scenes.ts";

const POD = 'job="mooring-provisioner",node="n1"';
const OF_NODE = { job: "mooring-provisioner", node: "n1" } as const;
const OF_POOL = { ...OF_NODE, pool: "fast" } as const;
const check = (name: string, endpoint: string): string =>
  `mooring_health_check{${POD},endpoint="${endpoint}",check="${name}"}`;
const ofPool = (name: string): string => `mooring_pool_${name}{${POD},pool="fast"}`;
const state = (name: string): string => `mooring_pool_state{${POD},pool="fast",state="${name}"}`;
const READY = { [state("ready")]: "1x120", [state("lost")]: "0x120", [state("empty")]: "0x120" } as const;

const WELL_BEING: readonly AlertScene[] = [
  {
    alert: "MooringProvisionersAbsent",
    name: "fires when there is none to scrape",
    series: { 'up{job="mooring-agent",node="n1"}': "1x120" },
    fires: {},
  },
  { alert: "MooringProvisionersAbsent", name: "keeps quiet while one answers", series: { [`up{${POD}}`]: "1x120" } },
  {
    alert: "MooringProvisionerDown",
    name: "fires for the one that does not answer",
    series: { [`up{${POD}}`]: "0x120" },
    fires: OF_NODE,
  },
  {
    alert: "MooringProvisionerDown",
    name: "keeps quiet while it is replaced",
    series: { [`up{${POD}}`]: "1x110 0x5 1x5" },
  },
  {
    alert: "MooringProvisionerNotReady",
    name: "fires for a check that fails since the start",
    series: { [check("keeper", "readyz")]: "0x120", [check("watches", "readyz")]: "1x120" },
    fires: { node: "n1", check: "keeper" },
  },
  {
    alert: "MooringProvisionerNotReady",
    name: "keeps quiet while all pass",
    series: { [check("keeper", "readyz")]: "1x120", [check("ping", "livez")]: "0x120" },
  },
];

const POOLS: readonly AlertScene[] = [
  {
    alert: "MooringPoolNearlyFull",
    name: "fires where a twentieth is left",
    series: { ...READY, [ofPool("free_bytes")]: "5x120", [ofPool("size_bytes")]: "100x120" },
    fires: OF_POOL,
  },
  {
    alert: "MooringPoolNearlyFull",
    name: "keeps quiet about half of it",
    series: { ...READY, [ofPool("free_bytes")]: "50x120", [ofPool("size_bytes")]: "100x120" },
  },
  {
    alert: "MooringPoolNearlyFull",
    name: "keeps quiet about a pool that is lost, which has an alert of its own",
    series: { [state("ready")]: "0x120", [ofPool("free_bytes")]: "0x120", [ofPool("size_bytes")]: "100x120" },
  },
  {
    alert: "MooringPoolNearlyFull",
    name: "keeps quiet about a pool of no size",
    series: { ...READY, [ofPool("free_bytes")]: "0x120", [ofPool("size_bytes")]: "0x120" },
  },
  {
    alert: "MooringPoolLost",
    name: "fires for a disk that is not mounted",
    series: { [state("ready")]: "1x60 0x60", [state("lost")]: "0x60 1x60" },
    fires: { ...OF_POOL, state: "lost" },
  },
  {
    alert: "MooringPoolLost",
    name: "keeps quiet about pools that are ready, or not begun yet",
    series: { ...READY, [`mooring_pool_state{${POD},pool="new",state="empty"}`]: "1x120" },
  },
  {
    alert: "MooringPoolLost",
    name: "keeps quiet while the node starts",
    series: { [state("ready")]: "0x3 1x117", [state("lost")]: "1x3 0x117" },
  },
];

const VOLUMES: readonly AlertScene[] = [
  {
    alert: "MooringLocalVolumesUnavailable",
    name: "fires for images that are not there",
    series: { [`mooring_unavailable_volumes{${POD}}`]: "2x120" },
    fires: OF_NODE,
  },
  {
    alert: "MooringLocalVolumesUnavailable",
    name: "keeps quiet while all are there",
    series: { [`mooring_unavailable_volumes{${POD}}`]: "0x120" },
  },
  {
    alert: "MooringLocalVolumeDeleteStuck",
    name: "fires for a volume that is in use for long",
    series: { [`mooring_volume_deletion_oldest_seconds{${POD}}`]: "0+60x120" },
    fires: OF_NODE,
  },
  {
    alert: "MooringLocalVolumeDeleteStuck",
    name: "keeps quiet while pods end within minutes",
    series: { [`mooring_volume_deletion_oldest_seconds{${POD}}`]: "240x120" },
  },
  {
    alert: "MooringImagesOrphaned",
    name: "fires for what no volume names any more",
    series: { [`mooring_orphaned_images{${POD}}`]: "1x120" },
    fires: OF_NODE,
  },
  {
    alert: "MooringImagesOrphaned",
    name: "keeps quiet for an hour",
    series: { [`mooring_orphaned_images{${POD}}`]: "0x70 1x50" },
  },
];

export const PROVISIONER_SCENES: readonly AlertScene[] = [...WELL_BEING, ...POOLS, ...VOLUMES];
