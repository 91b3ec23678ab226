import { type Attack, create, get, patch, remove, unseen, write } from "./attack.ts";
import { SHOP } from "./victims.ts";

const apis = (path: string): string => `/apis/${path}`;
const agent = (name: string, ask: Attack["ask"]): Attack => write("agent", name, ask);
const reads = (name: string, path: string): Attack => unseen("agent", name, get(path));

const CLAIM = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } } as const;

/** What an agent must not do to volumes and what belongs to them. */
export const VOLUME_ATTACKS: readonly Attack[] = [
  agent("makes a claim", create(`${SHOP}/persistentvolumeclaims`, { metadata: { name: "evil" }, ...CLAIM })),
  agent("deletes a claim", remove(`${SHOP}/persistentvolumeclaims/data`)),
  agent(
    "takes a claim's protection away",
    patch(`${SHOP}/persistentvolumeclaims/data`, { metadata: { finalizers: null } }),
  ),
  agent("writes a claim's status", patch(`${SHOP}/persistentvolumeclaims/data/status`, { status: { phase: "Lost" } })),
  agent(
    "moves a volume to another node",
    patch("/api/v1/persistentvolumes/pv-data", { metadata: { labels: { a: "b" } } }),
  ),
  agent("deletes a volume", remove("/api/v1/persistentvolumes/pv-data")),
  agent(
    "changes a CSI driver",
    patch(apis("storage.k8s.io/v1/csidrivers/disks.example.com"), { metadata: { labels: { a: "b" } } }),
  ),
  agent(
    "makes a storage class",
    create(apis("storage.k8s.io/v1/storageclasses"), { metadata: { name: "evil" }, provisioner: "evil" }),
  ),
  agent(
    "attaches a volume",
    create(apis("storage.k8s.io/v1/volumeattachments"), {
      metadata: { name: "evil" },
      spec: { attacher: "evil", nodeName: "node-1", source: { persistentVolumeName: "pv-data" } },
    }),
  ),
  reads("lists all claims", "/api/v1/persistentvolumeclaims"),
  reads("lists all volumes", "/api/v1/persistentvolumes"),
];
