import * as v from "valibot";
import type { KubeClient } from "../../common/kube/client.ts";
import { list } from "../../common/kube/list.ts";
import { CENTURY_MS, parseTimestamp } from "../../common/storage/timestamp.ts";
import type { LeaseRenewal } from "../core/kubelet-lease.ts";

/** The Leases that kubelets renew while they run. */
export interface NodeLeases {
  /** The Leases of these nodes, where they exist. Throws `MooringError` when they cannot be read. */
  readonly renewals: (nodes: ReadonlySet<string>, signal: AbortSignal) => Promise<ReadonlyMap<string, LeaseRenewal>>;
}

/** The size of a page: 5,000 Leases in one answer would be 3 MB. */
const PAGE = { limit: "500" };
/** The kubelet's default (`nodeLeaseDurationSeconds`). */
const DURATION_S = 40;

const seconds = v.pipe(v.number(), v.minValue(0), v.ltValue(CENTURY_MS / 1000));
const lease = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.optional(v.string()) }),
  spec: v.optional(v.object({ renewTime: v.nullish(v.string()), leaseDurationSeconds: v.nullish(seconds) }), {}),
});

const collection = {
  path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
  listsFrom: "quorum",
} as const;

/** Lists the Leases on demand. Every node's changes each ten seconds, so a watch would cost more. */
export function createNodeLeases(client: KubeClient): NodeLeases {
  return {
    renewals: async (nodes, signal) => {
      const found = new Map<string, LeaseRenewal>();
      await list(client, { collection, query: PAGE, signal }, (items) => {
        for (const item of items) keep(found, { item, nodes });
      });
      return found;
    },
  };
}

/** Ignores what is no Lease, or was never renewed. */
function keep(
  found: Map<string, LeaseRenewal>,
  { item, nodes }: { readonly item: unknown; readonly nodes: ReadonlySet<string> },
): void {
  const result = v.safeParse(lease, item);
  if (!result.success || !nodes.has(result.output.metadata.name)) return;
  const { metadata, spec } = result.output;
  const renewedAtMs = parseTimestamp(spec.renewTime);
  const durationMs = (spec.leaseDurationSeconds ?? DURATION_S) * 1000;
  if (renewedAtMs === undefined) return;
  found.set(metadata.name, { renewedAtMs, durationMs, resourceVersion: metadata.resourceVersion });
}
