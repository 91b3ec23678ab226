import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeKeeper, FAKE_POOL_ID, type FakeKeeper } from "../fakes/keeper.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import {
  CLAIMS,
  type ClaimSpec,
  GiB,
  ProvisionerStage,
  type RunningProvisioner,
  VOLUMES,
} from "./provisioner-stage.ts";

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;
let one: FakeKeeper;
let two: FakeKeeper;
let provisionerOne: RunningProvisioner;
let provisionerTwo: RunningProvisioner;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = new ProvisionerStage(owner, await borrowControlPlane(owner, ["kube-controller-manager", "kube-scheduler"]));
  await stage.prepare(["one", "two"]);
  [one, two] = [createFakeKeeper([{ totalBytes: 4 * GiB }]), createFakeKeeper([{ totalBytes: 10 * GiB }])];
  provisionerOne = await stage.start("one", one);
  provisionerTwo = await stage.start("two", two);
  await stage.until("the room of both nodes", async () => {
    expect((await stage.capacities()).length).toBe(2);
  });
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Deletes the claim and its pod, and waits until its volume is gone. */
async function discard(name: string): Promise<void> {
  const { metadata } = await stage.claim(name);
  await stage.removePod(name);
  await stage.api.remove(`${CLAIMS}/${name}`);
  await stage.volumeGone(`pvc-${metadata.uid}`);
}

describe("a claim", () => {
  it("is bound to a volume of the only node with room for it, with the node's host name", async () => {
    await stage.createClaim("large", { storage: "5Gi" });
    await stage.createPod("large");

    const { metadata, spec } = await stage.bound("large");

    expect(spec.volumeName).toBe(`pvc-${metadata.uid}`);
    expect(two.images.get(spec.volumeName)).toMatchObject({ bytes: 5 * GiB });
    expect(await stage.api.get(`${VOLUMES}/${spec.volumeName}`)).toMatchObject({
      metadata: {
        labels: { "local.mooring.dev/node": "two" },
        annotations: { "pv.kubernetes.io/provisioned-by": "local.mooring.dev", "local.mooring.dev/pool": "default" },
      },
      spec: {
        capacity: { storage: "5Gi" },
        local: { path: `/run/mooring/volumes/${spec.volumeName}`, fsType: "ext4" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", values: ["two"] }] }],
          },
        },
      },
    });
    await stage.event("large", "ProvisioningSucceeded");
    expect(await stage.events("large", "Provisioning")).toHaveLength(1);
    await stage.until("the image is published", async () => {
      expect(two.images.get(spec.volumeName)?.state).toBe("published");
    });
    await discard("large");
    expect(two.images.size).toBe(0);
  });
});

describe("a claim that cannot be provisioned", () => {
  const refused = (spec: ClaimSpec): ((name: string) => Promise<void>) => {
    return async (name) => {
      await stage.createClaim(name, spec);
      await stage.createPod(name, name, "two");
    };
  };

  it.each([
    { name: "selector", why: "selector is not supported", create: refused({ selector: { matchLabels: { a: "b" } } }) },
    { name: "shared", why: "access mode ReadWriteMany", create: refused({ accessModes: ["ReadWriteMany"] }) },
    {
      name: "copied",
      why: "dataSource is not supported",
      create: refused({ dataSource: { kind: "PersistentVolumeClaim", name: "large" } }),
    },
    {
      name: "parameter",
      why: 'parameter "type" is not known',
      create: async (name: string) => {
        await stage.createClass("typed", { parameters: { type: "ssd" } });
        await refused({ storageClassName: "typed" })(name);
      },
    },
  ])("is refused by an event for $why, and gets no volume", async ({ name, why, create }) => {
    await create(name);

    const event = await stage.event(name, "ProvisioningFailed", why);

    expect(event.note).toContain(why);
    expect(await stage.volumes()).toEqual([]);
    expect([...one.images, ...two.images]).toEqual([]);
    await stage.removePod(name);
    await stage.api.remove(`${CLAIMS}/${name}`);
  });
});

describe("a claim for which no node is selected", () => {
  it("because none has space stays Pending, and an event reports that", async () => {
    await stage.createClaim("huge", { storage: "11Gi" });
    await stage.createPod("huge");

    const event = await stage.event("huge", "ProvisioningFailed", "no node has room for 11Gi");

    expect(event.note).toContain("the largest is 10Gi on two");
    expect((await stage.claim("huge")).status.phase).toBe("Pending");
    expect(await stage.events("huge", "ProvisioningFailed")).toHaveLength(1);
    await stage.removePod("huge");
    await stage.api.remove(`${CLAIMS}/huge`);
  });

  it("since its class binds at once is refused by an event, and gets no volume", async () => {
    await stage.createClass("at-once", { volumeBindingMode: "Immediate" });
    await stage.createClaim("at-once", { storageClassName: "at-once" });

    await stage.event("at-once", "ProvisioningFailed", "use WaitForFirstConsumer");

    expect(await stage.volumes()).toEqual([]);
    await stage.api.remove(`${CLAIMS}/at-once`);
  });
});

describe("a node that is full when it is selected", () => {
  it("gives the claim back, and another node gets it", async () => {
    const filler = { volume: `pvc-${crypto.randomUUID()}`, pool: "default", state: "published" } as const;
    let full: FakeKeeper | undefined;
    const fillFirst = (keeper: FakeKeeper): void =>
      keeper.intercept(async ({ verb }) => {
        if (verb !== "make" || full !== undefined) return undefined;
        full = keeper;
        keeper.put({ ...filler, bytes: keeper.freeBytes("default") });
        return undefined;
      });
    for (const keeper of [one, two]) fillFirst(keeper);
    await stage.createClaim("bounced", { storage: "3Gi" });
    await stage.createPod("bounced");

    const { spec } = await stage.bound("bounced");

    const other = full === one ? two : one;
    expect([full?.images.has(spec.volumeName), other.images.has(spec.volumeName)]).toEqual([false, true]);
    await stage.event("bounced", "ProvisioningFailed", "asked the scheduler for another node");
    for (const keeper of [one, two]) keeper.intercept(undefined);
    await full?.ask({ verb: "remove", volume: filler.volume, pool: filler.pool, poolId: FAKE_POOL_ID }, owner.signal);
    await discard("bounced");
  });
});

describe("twenty pods for nine places", () => {
  it("nine are bound, no byte is given twice, and the others get their places when these are free again", async () => {
    let names = Array.from({ length: 20 }, (_, index) => `race-${index}`);
    await Promise.all(names.map((name) => stage.createClaim(name, { storage: "1400Mi" })));
    await Promise.all(names.map((name) => stage.createPod(name)));
    // 4 GiB hold two, 10 GiB seven.
    const bound = async (): Promise<readonly string[]> => {
      const claims = await Promise.all(names.map(async (name) => ({ name, claim: await stage.claim(name) })));
      return claims.filter(({ claim }) => claim.status.phase === "Bound").map(({ name }) => name);
    };
    await stage.until("nine are bound", async () => {
      expect((await bound()).length).toBe(9);
    });
    expect([one.images.size, two.images.size]).toEqual([2, 7]);
    expect(one.freeBytes("default")).toBeGreaterThanOrEqual(0);
    expect(two.freeBytes("default")).toBeGreaterThanOrEqual(0);

    const first = await bound();
    await Promise.all(first.map(discard));
    names = names.filter((name) => !first.includes(name));
    await stage.until("nine more are bound", async () => {
      expect((await bound()).length).toBe(9);
    });

    for (const name of names) {
      await stage.removePod(name);
      await stage.api.remove(`${CLAIMS}/${name}`);
    }
    await stage.until("all is free", async () => {
      expect([one.images.size, two.images.size]).toEqual([0, 0]);
      expect(await stage.volumes()).toEqual([]);
    });
  });
});

describe("a volume that is deleted", () => {
  async function made(name: string, spec: ClaimSpec = {}): Promise<string> {
    await stage.createClaim(name, spec);
    await stage.createPod(name, name, "two");
    const { spec: bound } = await stage.bound(name);
    await stage.until("published", async () => {
      expect(two.images.get(bound.volumeName)?.state).toBe("published");
    });
    return bound.volumeName;
  }

  /** How long the oldest deletion on node two has waited. */
  async function waitsForSeconds(): Promise<number> {
    const text = await provisionerTwo.metrics.text();
    return Number(/^mooring_volume_deletion_oldest_seconds (\S+)$/m.exec(text)?.[1]);
  }

  it("stays while it is in use, which one event reports", async () => {
    const volume = await made("used");
    two.use(volume, "mounted by process 4711");
    await stage.removePod("used");
    await stage.api.remove(`${CLAIMS}/used`);

    await stage.event(volume, "VolumeFailedDelete", "process 4711");
    const asked = (): number => two.requests.filter((one) => one.verb === "remove" && one.volume === volume).length;
    const before = asked();
    await stage.until("it was asked for again", async () => {
      expect(asked()).toBeGreaterThan(before + 1);
    });
    expect(two.images.has(volume)).toBe(true);
    expect(await stage.events(volume, "VolumeFailedDelete")).toHaveLength(1);
    expect(await waitsForSeconds()).toBeGreaterThan(1);

    two.release(volume);
    await stage.volumeGone(volume);
    expect(two.images.has(volume)).toBe(false);
    await stage.until("no deletion that waits", async () => expect(await waitsForSeconds()).toBe(0));
  });

  it("and is to be kept after all counts no longer as one that waits", async () => {
    const volume = await made("spared");
    two.use(volume);
    await stage.removePod("spared");
    await stage.api.remove(`${CLAIMS}/spared`);
    await stage.event(volume, "VolumeFailedDelete");

    await stage.api.patch(`${VOLUMES}/${volume}`, { spec: { persistentVolumeReclaimPolicy: "Retain" } });

    await stage.until("no deletion that waits", async () => expect(await waitsForSeconds()).toBe(0));
    two.release(volume);
    await stage.api.remove(`${VOLUMES}/${volume}`);
    await stage.volumeGone(volume);
    await two.ask({ verb: "remove", volume, pool: "default", poolId: FAKE_POOL_ID }, owner.signal);
  });

  it("before its claim stays until the claim is gone, and then its data goes, too", async () => {
    const volume = await made("first");
    await stage.api.remove(`${VOLUMES}/${volume}`);
    await stage.until("Terminating", async () => {
      expect((await stage.volume(volume))?.metadata.deletionTimestamp).toBeDefined();
    });
    expect(two.images.has(volume)).toBe(true);

    await stage.removePod("first");
    await stage.api.remove(`${CLAIMS}/first`);

    await stage.volumeGone(volume);
    expect(two.images.has(volume)).toBe(false);
  });

  it("keeps its data when its policy became Retain, and may then be deleted", async () => {
    const volume = await made("kept");
    await stage.api.patch(`${VOLUMES}/${volume}`, { spec: { persistentVolumeReclaimPolicy: "Retain" } });
    await stage.until("it has no finalizer of ours", async () => {
      expect((await stage.volume(volume))?.metadata.finalizers).toEqual(["kubernetes.io/pv-protection"]);
    });

    await stage.removePod("kept");
    await stage.api.remove(`${CLAIMS}/kept`);
    await stage.until("Released", async () => {
      expect((await stage.volume(volume))?.status.phase).toBe("Released");
    });
    await stage.api.remove(`${VOLUMES}/${volume}`);
    await stage.volumeGone(volume);

    expect(two.images.get(volume)).toMatchObject({ state: "published" });
    await two.ask({ verb: "remove", volume, pool: "default", poolId: FAKE_POOL_ID }, owner.signal);
  });
});

describe("objects of other owners", () => {
  it("is left alone: a claim of another provisioner, and a volume that others made", async () => {
    await stage.createClass("other", { provisioner: "other.example.com" });
    await stage.createClaim("foreign", { storageClassName: "other" });
    await stage.createPod("foreign", "foreign", "two");
    await stage.api.create(VOLUMES, {
      metadata: {
        name: "static",
        labels: { "local.mooring.dev/node": "two" },
        annotations: { "pv.kubernetes.io/provisioned-by": "other.example.com" },
      },
      spec: {
        ...{ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: "other" },
        ...{ persistentVolumeReclaimPolicy: "Delete", csi: { driver: "other.example.com", volumeHandle: "x" } },
        claimRef: { namespace: "default", name: "foreign", uid: (await stage.claim("foreign")).metadata.uid },
      },
    });
    await stage.bound("foreign");
    await stage.removePod("foreign");
    await stage.api.remove(`${CLAIMS}/foreign`);
    await stage.until("Released", async () => {
      expect((await stage.volume("static"))?.status.phase).toBe("Released");
    });

    // What comes later is dealt with, so it had its turn.
    await stage.createClaim("own");
    await stage.createPod("own", "own", "two");
    await stage.bound("own");
    await discard("own");

    expect(await stage.events("foreign", "Provisioning")).toEqual([]);
    expect(await stage.volume("static")).toMatchObject({ metadata: { finalizers: ["kubernetes.io/pv-protection"] } });
    await stage.api.remove(`${VOLUMES}/static`);
  });

  it("serves its other name as well", async () => {
    await stage.createClass("slash", { provisioner: "mooring.dev/local" });
    await stage.createClaim("slash", { storageClassName: "slash" });
    await stage.createPod("slash", "slash", "one");

    const { spec } = await stage.bound("slash");

    expect(one.images.has(spec.volumeName)).toBe(true);
    await discard("slash");
  });
});

describe("a node whose host name is not its name", () => {
  it("publishes no capacity, and sends a claim back to the scheduler with the reason", async () => {
    const three = createFakeKeeper([{ totalBytes: 100 * GiB }]);
    await stage.createNode("three", "rack-3");
    await stage.createClass("slash-three", { provisioner: "mooring.dev/local" });
    const { stop } = await stage.start("three", three);
    await stage.createClaim("misnamed", { storageClassName: "slash-three" });
    await stage.createPod("misnamed", "misnamed", "rack-3");

    await stage.event("misnamed", "ProvisioningFailed", 'of node three is "rack-3"');

    expect((await stage.capacities()).map(({ host }) => host)).not.toContain("rack-3");
    expect((await stage.capacities()).map(({ host }) => host)).not.toContain("three");
    expect([await stage.volumes(), three.images.size]).toEqual([[], 0]);
    await stop();
    await stage.removePod("misnamed");
    await stage.api.remove(`${CLAIMS}/misnamed`);
    await stage.api.remove("/api/v1/nodes/three");
  });
});

describe("a claim that is deleted while its volume is made", () => {
  it("leaves nothing, and one of its name gets a volume of its own", async () => {
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    two.intercept(async ({ verb }) => {
      if (verb !== "make") return undefined;
      reached.resolve();
      await goOn.promise;
      return undefined;
    });
    const first = await stage.createClaim("again");
    await stage.createPod("again", "again", "two");
    await reached.promise;
    await stage.removePod("again");
    await stage.api.remove(`${CLAIMS}/again`);
    await stage.until("the claim is gone", async () => {
      expect(await stage.has(`${CLAIMS}/again`)).toBe(false);
    });
    two.intercept(undefined);
    goOn.resolve();
    await stage.createClaim("again");
    await stage.createPod("again", "again", "two");

    const { spec } = await stage.bound("again");

    await stage.until("the first one's volume and image are gone", async () => {
      expect([...two.images.keys()]).toEqual([spec.volumeName]);
      expect((await stage.volumes()).map(({ metadata }) => metadata.name)).toEqual([spec.volumeName]);
    });
    expect(spec.volumeName).not.toBe(`pvc-${first.metadata.uid}`);
    await discard("again");
  });
});

describe("a volume that exists already under the name", () => {
  it("of another provisioner is not changed, which an event reports, and no image stays", async () => {
    const claim = await stage.createClaim("taken");
    const volume = `pvc-${claim.metadata.uid}`;
    await stage.api.create(VOLUMES, {
      metadata: { name: volume },
      spec: {
        ...{ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: "none" },
        csi: { driver: "other.example.com", volumeHandle: "x" },
      },
    });
    await stage.createPod("taken", "taken", "two");

    await stage.event("taken", "ProvisioningFailed", "exists and is not of this claim");

    expect(two.images.has(volume)).toBe(false);
    await stage.removePod("taken");
    await stage.api.remove(`${CLAIMS}/taken`);
    await stage.api.remove(`${VOLUMES}/${volume}`);
  });
});

describe("a provisioner that was killed", () => {
  it("between image and volume continues there", async () => {
    await provisionerOne.stop();
    const claim = await stage.createClaim("crash");
    const volume = `pvc-${claim.metadata.uid}`;
    one.put({ volume, pool: "default", bytes: GiB, state: "made", device: "/dev/loop99" });
    await stage.createPod("crash", "crash", "one");

    provisionerOne = await stage.start("one", one);

    await stage.bound("crash");
    await stage.until("published, and the same image", async () => {
      expect(one.images.get(volume)).toMatchObject({ state: "published", device: "/dev/loop99" });
    });
  });

  it("between volume and publishing publishes, and after a reboot attaches", async () => {
    const { spec } = await stage.claim("crash");
    await provisionerOne.stop();
    one.put({ volume: spec.volumeName, pool: "default", bytes: GiB, state: "made" });

    provisionerOne = await stage.start("one", one);

    await stage.until("published and attached", async () => {
      expect(one.images.get(spec.volumeName)).toMatchObject({ state: "published", device: expect.any(String) });
    });
    await discard("crash");
  });

  it("deletes images of an earlier run whose claims are gone, and keeps those that had a volume", async () => {
    const [left, had] = [`pvc-${crypto.randomUUID()}`, `pvc-${crypto.randomUUID()}`];
    await provisionerOne.stop();
    one.put({ volume: left, pool: "default", bytes: GiB, state: "partial" });
    one.put({ volume: had, pool: "default", bytes: GiB, state: "published" });

    provisionerOne = await stage.start("one", one);

    await stage.until("the one is gone", async () => {
      expect([...one.images.keys()]).toEqual([had]);
    });
    await stage.until("the other one is reported", async () => {
      expect(await provisionerOne.metrics.text()).toContain("mooring_orphaned_images 1");
    });
    await one.ask({ verb: "remove", volume: had, pool: "default", poolId: FAKE_POOL_ID }, owner.signal);
  });
});

describe("a claim that grows", () => {
  it.each([
    {
      volumeMode: "Filesystem",
      expected: { capacity: { storage: "1Gi" }, allocatedResourceStatuses: { storage: "NodeResizePending" } },
    },
    { volumeMode: "Block", expected: { capacity: { storage: "2Gi" }, allocatedResourceStatuses: {} } },
  ])("gets a larger image and volume, $volumeMode", async ({ volumeMode, expected }) => {
    const name = `grows-${volumeMode.toLowerCase()}`;
    await stage.createClaim(name, { volumeMode });
    await stage.createPod(name, name, "two");
    const { spec } = await stage.bound(name);

    await stage.api.patch(`${CLAIMS}/${name}`, { spec: { resources: { requests: { storage: "2Gi" } } } });

    const { status } = await stage.claimThat(
      name,
      "told of it",
      ({ status: { capacity, allocatedResourceStatuses } }) => {
        return capacity.storage === "2Gi" || allocatedResourceStatuses.storage !== undefined;
      },
    );
    expect(status).toMatchObject(expected);
    expect(status.conditions.some(({ type }) => type === "FileSystemResizePending")).toBe(volumeMode === "Filesystem");
    expect(two.images.get(spec.volumeName)?.bytes).toBe(2 * GiB);
    expect((await stage.volume(spec.volumeName))?.spec.capacity).toEqual({ storage: "2Gi" });
    await discard(name);
  });
});
