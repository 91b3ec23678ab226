import { describe, expect, it } from "vitest";
import type { Claim, StorageClass } from "../../../../provisioner/core/objects.ts";
import { type NodeCapacity, unplacedProblem } from "../../../../provisioner/core/unplaced.ts";
import { claimWith, classWith, GiB } from "../objects.ts";

const CAPACITIES: readonly NodeCapacity[] = [
  { storageClass: "local", hostname: "h1", bytes: GiB },
  { storageClass: "local", hostname: "h2", bytes: 2 * GiB },
  { storageClass: "other", hostname: "h3", bytes: 9 * GiB },
];

interface Row {
  readonly name: string;
  readonly claim?: Partial<Claim>;
  readonly storageClass?: StorageClass | undefined;
  readonly capacities?: readonly NodeCapacity[];
  readonly why?: string;
}

describe("a claim for which no node is selected", () => {
  it.each<Row>([
    { name: "only waits for its first pod", claim: { requestBytes: 2 * GiB } },
    {
      name: "is larger than the capacity of every node",
      claim: { requestBytes: 3 * GiB },
      why: "no node has room for 3Gi of StorageClass local: the largest is 2Gi on h2",
    },
    { name: "is of a class without published capacity", claim: { requestBytes: 3 * GiB }, capacities: [] },
    {
      name: "may fit on a node with unknown capacity",
      claim: { requestBytes: 3 * GiB },
      capacities: [...CAPACITIES, { storageClass: "local", hostname: "h4", bytes: undefined }],
    },
    {
      name: "is of a class that binds at once",
      storageClass: classWith({ bindingMode: "Immediate" }),
      why: "StorageClass local has volumeBindingMode Immediate; use WaitForFirstConsumer: a local volume needs the node of its first pod",
    },
    {
      name: "is of another provisioner",
      claim: { requestBytes: 3 * GiB },
      storageClass: classWith({ provisioner: "x" }),
    },
    { name: "has one meanwhile", claim: { requestBytes: 3 * GiB, selectedNode: "n1" } },
    { name: "is bound meanwhile", claim: { requestBytes: 3 * GiB, volumeName: "pv-1" } },
    { name: "is being deleted", claim: { requestBytes: 3 * GiB, isDeleting: true } },
  ])("$name", ({ claim = {}, storageClass = classWith(), capacities = CAPACITIES, why }) => {
    const unplaced = claimWith({ selectedNode: undefined, ...claim });

    expect(unplacedProblem(unplaced, { storageClass, capacities })).toBe(why);
  });
});
