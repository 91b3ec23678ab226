import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../provisioner/core/objects.ts";
import {
  decideProvisioning,
  type Provisioning,
  type ProvisioningFacts,
} from "../../../../provisioner/core/provisioning.ts";
import { claimWith, classWith, GiB, imageWith, MiB, nodeWith, POOL_ID, poolWith, VOLUME } from "../objects.ts";

function decide(claim: Partial<Claim>, facts: Partial<ProvisioningFacts> = {}): Provisioning {
  const known = { nodeName: "n1", node: nodeWith(), storageClass: classWith(), pools: [poolWith()], image: undefined };
  return decideProvisioning(claimWith(claim), { ...known, ...facts });
}

function withParameters(parameters: Readonly<Record<string, string>>): Partial<ProvisioningFacts> {
  return { storageClass: classWith({ parameters }) };
}

describe("a claim", () => {
  it.each([
    { name: "of our name, which the scheduler gave to this node", claim: {} },
    { name: "of our other name", claim: { provisioner: "mooring.dev/local" } },
    { name: "for one pod alone", claim: { accessModes: ["ReadWriteOncePod"] } },
    { name: "for a block device", claim: { volumeMode: "Block" } },
    { name: "whose image was made before a crash", claim: {}, facts: { image: imageWith({ state: "made" }) } },
  ])("$name is provisioned", ({ claim, facts }) => {
    expect(decide(claim, facts)).toEqual({
      kind: "provision",
      provision: { volume: VOLUME, pool: "default", poolId: POOL_ID, bytes: GiB, fsType: "ext4" },
    });
  });

  it("continues in the pool of its image, whatever pool the class names by now", () => {
    const facts = {
      storageClass: classWith({ parameters: { pool: "two" } }),
      pools: [poolWith(), poolWith({ name: "two", id: "id-of-two" })],
      image: imageWith({ state: "made" }),
    };

    expect(decide({}, facts)).toMatchObject({ provision: { pool: "default", poolId: POOL_ID } });
  });

  it.each([
    { name: "of another provisioner", claim: { provisioner: "csi.example.com" } },
    { name: "without a provisioner", claim: { provisioner: undefined } },
    { name: "that is bound", claim: { volumeName: "pv-1" } },
    { name: "that is being deleted", claim: { isDeleting: true } },
    { name: "of another node", claim: { selectedNode: "n2" } },
    { name: "of no node yet", claim: { selectedNode: undefined } },
    { name: "with a UID that is no UUID", claim: { uid: "../../etc" } },
  ])("$name is ignored", ({ claim }) => {
    expect(decide(claim).kind).toBe("ignore");
  });

  it.each<{ name: string; claim?: Partial<Claim>; facts?: Partial<ProvisioningFacts>; why: RegExp }>([
    { name: "a selector", claim: { hasSelector: true }, why: /selector is not supported/ },
    { name: "a data source", claim: { hasDataSource: true }, why: /dataSource is not supported/ },
    { name: "RWX", claim: { accessModes: ["ReadWriteOnce", "ReadWriteMany"] }, why: /access mode ReadWriteMany/ },
    { name: "ROX", claim: { accessModes: ["ReadOnlyMany"] }, why: /access mode ReadOnlyMany/ },
    { name: "no class", facts: { storageClass: undefined }, why: /StorageClass "local" does not exist/ },
    { name: "another's class", facts: { storageClass: classWith({ provisioner: "x" }) }, why: /of provisioner x/ },
    {
      name: "Immediate",
      facts: { storageClass: classWith({ bindingMode: "Immediate" }) },
      why: /WaitForFirstConsumer/,
    },
    { name: "an unknown parameter", facts: withParameters({ type: "ssd" }), why: /parameter "type" is not known/ },
    { name: "a bad pool", facts: withParameters({ pool: "../x" }), why: /pool "..\/x" is no name/ },
    {
      name: "a bad filesystem",
      facts: withParameters({ "csi.storage.k8s.io/fstype": "btrfs" }),
      why: /"btrfs" is not/,
    },
    { name: "no request", claim: { requestBytes: undefined }, why: /request for storage cannot be read/ },
    { name: "too much", claim: { requestBytes: 2 ** 47 }, why: /more than 64Ti/ },
    { name: "a limit below whole MiB", claim: { requestBytes: 5, limitBytes: 6 }, why: /limit is smaller than 1Mi/ },
    {
      name: "a small XFS",
      claim: { requestBytes: 299 * MiB },
      facts: withParameters({ "csi.storage.k8s.io/fstype": "xfs" }),
      why: /XFS needs at least 300Mi, it asks for 299Mi/,
    },
    {
      name: "an image that was published",
      facts: { image: imageWith() },
      why: /PersistentVolume was deleted by force/,
    },
  ])("with $name is refused", ({ claim = {}, facts, why }) => {
    expect(decide(claim, facts)).toEqual({ kind: "refuse", why: expect.stringMatching(why) });
  });

  it.each<{ name: string; facts: Partial<ProvisioningFacts> }>([
    { name: "the pools are not known", facts: { pools: undefined } },
    { name: "the node is not known", facts: { node: undefined } },
    { name: "the pool has not been begun", facts: { pools: [poolWith({ state: "empty" })] } },
  ])("waits while $name", ({ facts }) => {
    expect(decide({}, facts).kind).toBe("wait");
  });

  it.each<{ name: string; facts: Partial<ProvisioningFacts>; why: RegExp }>([
    { name: "has no such pool", facts: withParameters({ pool: "fast" }), why: /node n1 has no pool "fast"/ },
    { name: "has lost it", facts: { pools: [poolWith({ state: "lost", why: "no disk" })] }, why: /is lost: no disk/ },
    {
      name: "has another host name",
      facts: { node: nodeWith({ hostname: "h" }) },
      why: /^label kubernetes.io\/hostname of node n1 is "h"; .* must be the node's name$/,
    },
    { name: "has no host name", facts: { node: nodeWith({ hostname: undefined }) }, why: /of node n1 is missing;/ },
    { name: "knows no ID of it", facts: { pools: [poolWith({ id: undefined })] }, why: /is lost/ },
  ])("goes back to the scheduler when this node $name", ({ facts, why }) => {
    expect(decide({}, facts)).toEqual({ kind: "reschedule", why: expect.stringMatching(why) });
  });

  it.each([
    { asked: 1, bytes: MiB },
    { asked: MiB, bytes: MiB },
    { asked: MiB + 1, bytes: 2 * MiB },
    { asked: 0, bytes: MiB },
  ])("for $asked bytes gets $bytes", ({ asked, bytes }) => {
    expect(decide({ requestBytes: asked })).toMatchObject({ provision: { bytes } });
  });

  it("keeps a long text of a class out of what people read", () => {
    const decided = decide({}, withParameters({ ["x".repeat(10_000)]: "" }));

    expect(decided).toEqual({ kind: "refuse", why: expect.stringMatching(/^.{50,250}$/) });
  });
});
