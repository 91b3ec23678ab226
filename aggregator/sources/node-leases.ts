import * as v from "valibot";
import type { KubeClient } from "../../common/kube/client.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import type { LeaseRenewal } from "../core/kubelet-lease.ts";

/** The Leases by which kubelets tell that they live. */
export interface NodeLeases {
  /** The Leases of these nodes, as far as there are any. Throws `MooringError` when they cannot be had. */
  readonly renewals: (nodes: ReadonlySet<string>, signal: AbortSignal) => Promise<ReadonlyMap<string, LeaseRenewal>>;
}

/** So many in an answer: 5,000 Leases are 3 MB, which nobody has to make or take at once. */
const PAGE = 500;
/** The kubelet's default (`nodeLeaseDurationSeconds`). */
const DURATION_S = 40;

const lease = v.object({
  metadata: v.object({ name: v.string() }),
  spec: v.optional(v.object({ renewTime: v.nullish(v.string()), leaseDurationSeconds: v.nullish(v.number()) }), {}),
});
const page = v.object({ metadata: v.object({ continue: v.nullish(v.string()) }), items: v.nullish(v.array(lease)) });

const PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Lists the Leases when asked; they change every ten seconds on every node, so nobody watches them. */
export function createNodeLeases(client: KubeClient): NodeLeases {
  return {
    renewals: async (nodes, signal) => {
      const found = new Map<string, LeaseRenewal>();
      let next: string | undefined;
      do {
        const query = { limit: String(PAGE), ...(next && { continue: next }) };
        const answer = v.safeParse(page, await client.request({ method: "GET", path: PATH, query }, signal));
        if (!answer.success) throw new MooringError("list-invalid", `the list of ${PATH} is no list`);
        const { items, metadata } = answer.output;
        for (const item of items ?? []) if (nodes.has(item.metadata.name)) keep(found, item);
        next = metadata.continue ?? undefined;
      } while (next);
      return found;
    },
  };
}

/** A Lease that was never renewed tells nothing. */
function keep(found: Map<string, LeaseRenewal>, { metadata, spec }: v.InferOutput<typeof lease>): void {
  const renewedAtMs = parseTimestamp(spec.renewTime);
  const durationMs = (spec.leaseDurationSeconds ?? DURATION_S) * 1000;
  if (renewedAtMs !== undefined) found.set(metadata.name, { renewedAtMs, durationMs });
}
