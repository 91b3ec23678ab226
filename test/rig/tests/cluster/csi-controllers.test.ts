import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { borrowControlPlane } from "../../control-plane/lent.ts";
import { attacherFinalizer, startAttacher } from "../../csi/attacher.ts";
import { claimObject, csiDriverObject, STORAGE_PATHS, storageClassObject, volumeObject } from "../../csi/objects.ts";
import { startProvisioner } from "../../csi/provisioner.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { waitUntil } from "../../process/wait.ts";
import { type ClusterApi, createClusterApi } from "../../stand-in/cluster-api.ts";

const DRIVER = "csi.mooring.test";
const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";
const CLAIMS = STORAGE_PATHS.claims("default");

const attachment = v.object({
  metadata: v.object({ finalizers: v.optional(v.array(v.string()), []) }),
  status: v.optional(v.object({ attached: v.boolean() })),
});
const phase = v.object({
  status: v.object({ phase: v.string() }),
  spec: v.object({ volumeName: v.optional(v.string()) }),
});

let owner: Owner;
let plane: ControlPlane;
let api: ClusterApi;

beforeAll(async () => {
  owner = await openOwner();
  plane = await borrowControlPlane(owner, ["kube-controller-manager"]);
  api = createClusterApi(plane.api);
  await api.create("/api/v1/nodes", { metadata: { name: "node-1" } });
  await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver: DRIVER, attachRequired: true }));
  await startAttacher(owner, plane, { driver: DRIVER });
  await startProvisioner(owner, plane, { driver: DRIVER });
});

afterAll(() => owner.close());

async function until<T>(what: string, read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  let value = await read();
  const check = async (): Promise<void> => {
    value = await read();
    if (!holds(value)) throw new Error(`it is ${JSON.stringify(value)}`);
  };
  await waitUntil(owner, { what, limitMs: 20_000, check });
  return value;
}

/** The object at a path; nothing when there is none. */
async function found(path: string): Promise<unknown> {
  const answer = await plane.api({ path });
  return answer.status === 404 ? undefined : JSON.parse(answer.text);
}

async function attach(name: string, attacher: string): Promise<void> {
  const spec = { attacher, nodeName: "node-1", source: { persistentVolumeName: "none" } };
  await api.create(ATTACHMENTS, { metadata: { name }, spec });
}

describe("the attacher", () => {
  it("marks an attachment of its driver attached, and keeps it until it is detached", async () => {
    await attach("mine", DRIVER);
    const read = async () => v.parse(attachment, await api.get(`${ATTACHMENTS}/mine`));

    const attached = await until("attached", read, ({ status }) => status?.attached === true);
    await api.remove(`${ATTACHMENTS}/mine`);
    await until(
      "gone",
      () => found(`${ATTACHMENTS}/mine`),
      (object) => object === undefined,
    );

    expect(attached.metadata.finalizers).toEqual([attacherFinalizer(DRIVER)]);
  });

  it("leaves the attachments of other drivers alone", async () => {
    await attach("foreign", "csi.other.test");
    await attach("next", DRIVER);
    const read = async (name: string) => v.parse(attachment, await api.get(`${ATTACHMENTS}/${name}`));

    await until(
      "the next",
      () => read("next"),
      ({ status }) => status?.attached === true,
    );

    expect(await read("foreign")).toMatchObject({ metadata: { finalizers: [] } });
    expect((await read("foreign")).status?.attached ?? false).toBe(false);
  });
});

describe("objects of storage", () => {
  it("bind a claim to the volume that is reserved for it", async () => {
    const claim = { namespace: "default", name: "static" };
    const terms = { accessModes: ["ReadWriteMany"], volumeMode: "Block" } as const;
    await api.create(
      STORAGE_PATHS.volumes,
      volumeObject({ name: "pv-1", driver: DRIVER, claim, nodes: ["node-1"] }, terms),
    );

    await api.create(CLAIMS, claimObject({ name: "static", volume: "pv-1" }, terms));

    const bound = await until(
      "bound",
      async () => v.parse(phase, await api.get(`${CLAIMS}/static`)),
      ({ status }) => status.phase === "Bound",
    );
    expect(bound.spec.volumeName).toBe("pv-1");
  });
});

describe("the provisioner", () => {
  it("makes a volume for a claim of its class, and deletes it when the claim is gone", async () => {
    await api.create(STORAGE_PATHS.classes, storageClassObject({ name: "made", driver: DRIVER }));
    await api.create(CLAIMS, claimObject({ name: "dynamic" }, { storageClassName: "made" }));

    const { spec } = await until(
      "bound",
      async () => v.parse(phase, await api.get(`${CLAIMS}/dynamic`)),
      ({ status }) => status.phase === "Bound",
    );
    const volume = await found(`${STORAGE_PATHS.volumes}/${spec.volumeName}`);
    await api.remove(`${CLAIMS}/dynamic`);
    await until(
      "gone",
      () => found(`${STORAGE_PATHS.volumes}/${spec.volumeName}`),
      (object) => object === undefined,
    );

    expect(volume).toMatchObject({ spec: { csi: { driver: DRIVER, volumeHandle: spec.volumeName } } });
  });

  it("waits for the consumer where the class does", async () => {
    const lazy = storageClassObject({ name: "lazy", driver: DRIVER, bindingMode: "WaitForFirstConsumer" });
    await api.create(STORAGE_PATHS.classes, lazy);
    await api.create(CLAIMS, claimObject({ name: "waiting" }, { storageClassName: "lazy" }));
    await api.create(CLAIMS, claimObject({ name: "eager" }, { storageClassName: "made" }));
    const read = async (name: string) => v.parse(phase, await api.get(`${CLAIMS}/${name}`));
    await until(
      "the other",
      () => read("eager"),
      ({ status }) => status.phase === "Bound",
    );
    const before = await read("waiting");

    await api.patch(`${CLAIMS}/waiting`, {
      metadata: { annotations: { "volume.kubernetes.io/selected-node": "node-1" } },
    });

    await until(
      "bound",
      () => read("waiting"),
      ({ status }) => status.phase === "Bound",
    );
    expect(before.status.phase).toBe("Pending");
  });
});
