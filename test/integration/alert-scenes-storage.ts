import type { AlertScene } from "./alert-scenes.ts";

const POD = 'job="mooring-aggregator",pod="a"';
const OTHER = 'job="mooring-aggregator",pod="b"';
const oldest = (phase: string, policy: string, pod = POD): string =>
  `mooring_volumes_phase_oldest_seconds{${pod},phase="${phase}",reclaim_policy="${policy}"}`;
const volumes = (phase: string, pod = POD): string =>
  `mooring_volumes{${pod},phase="${phase}",storage_class="fast",reclaim_policy="Delete"}`;
const mounted = (pod: string): string => `mooring_volumes_unbound_mounted{${pod}}`;
const pending = (binding: string): string => `mooring_claims_pending_oldest_seconds{${POD},binding="${binding}"}`;

export const STORAGE_SCENES: readonly AlertScene[] = [
  {
    alert: "MooringVolumeDeleteStuck",
    name: "fires for a volume that is not deleted",
    series: { [oldest("Released", "Delete")]: "0+60x120" },
    fires: {},
  },
  {
    alert: "MooringVolumeDeleteStuck",
    name: "keeps quiet while volumes come and go",
    series: { [oldest("Released", "Delete")]: "45x120" },
  },
  {
    alert: "MooringVolumeDeleteStuck",
    name: "keeps quiet about volumes that nobody is to delete",
    series: { [oldest("Released", "Retain")]: "0+60x120", [oldest("Available", "Delete")]: "0+60x120" },
  },
  {
    alert: "MooringVolumeReleasedLong",
    name: "fires after a week",
    series: { [oldest("Released", "Retain")]: "605000+60x120" },
    fires: {},
  },
  {
    alert: "MooringVolumeReleasedLong",
    name: "keeps quiet for a week",
    series: { [oldest("Released", "Retain")]: "500000+60x120" },
  },
  {
    alert: "MooringClaimPendingLong",
    name: "fires for a claim that a pod waits for",
    series: { [pending("WaitForFirstConsumer")]: "0+60x120", [pending("Immediate")]: "5x120" },
    fires: { binding: "WaitForFirstConsumer" },
  },
  {
    alert: "MooringClaimPendingLong",
    name: "keeps quiet while claims are bound within minutes",
    series: {
      [pending("Immediate")]: "0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10 0+60x10",
    },
    at: "105m",
  },
  {
    alert: "MooringVolumeReleasedButMounted",
    name: "fires for a volume that stays mounted without a claim",
    series: { [mounted(POD)]: "1x120" },
    fires: {},
  },
  {
    alert: "MooringVolumeReleasedButMounted",
    name: "keeps quiet about a volume that is unmounted a minute after its claim went",
    series: { [mounted(POD)]: "0x50 1x1 0x60", [mounted(OTHER)]: "0x120" },
  },
  {
    alert: "MooringVolumeFailed",
    name: "fires for a volume that is Failed",
    series: { [volumes("Failed")]: "1x120", [volumes("Bound")]: "9x120" },
    fires: {},
  },
  {
    alert: "MooringVolumeFailed",
    name: "keeps quiet about all other phases",
    series: { [volumes("Released")]: "1x120", [volumes("Bound")]: "9x120", [volumes("Bound", OTHER)]: "9x120" },
  },
];
