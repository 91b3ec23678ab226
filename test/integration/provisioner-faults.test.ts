import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiRequest, KubeClient } from "../../common/kube/client.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { createFakeKeeper, type FakeKeeper } from "../fakes/keeper.ts";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { CLAIMS, GiB, ProvisionerStage, type RunningProvisioner, VOLUMES } from "./provisioner-stage.ts";

const POOLS = [
  { name: "default", totalBytes: 8 * GiB },
  { name: "fast", totalBytes: 2 * GiB },
];

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let stage: ProvisionerStage;
let keeper: FakeKeeper;
let provisioner: RunningProvisioner;
/** A request whose answer is lost, once. */
let lost: ((request: ApiRequest) => boolean) | undefined;

/** The API server does what it is asked, and the answer does not arrive. */
function losing(client: KubeClient): KubeClient {
  return {
    ...client,
    request: async (request, signal) => {
      const answer = await client.request(request, signal);
      if (lost?.(request) !== true) return answer;
      lost = undefined;
      throw new MooringError("transport-failed", "the connection was closed");
    },
  };
}

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await startControlPlane(owner, { parts: ["kube-controller-manager", "kube-scheduler"] });
  stage = new ProvisionerStage(owner, plane);
  await stage.prepare(["one"]);
  await stage.createClass("fast", { parameters: { pool: "fast" } });
  keeper = createFakeKeeper(POOLS);
  provisioner = await stage.start("one", keeper, { wrap: losing });
  await stage.until("the room of both pools", async () => {
    expect((await stage.capacities()).map(({ capacity }) => capacity).sort()).toEqual(["2Gi", "8Gi"]);
  });
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A bound claim with the pod that made it so. */
async function bound(name: string, storageClassName = "local"): Promise<string> {
  await stage.createClaim(name, { storageClassName });
  await stage.createPod(name);
  return (await stage.bound(name)).spec.volumeName;
}

async function discard(name: string): Promise<void> {
  await stage.removePod(name);
  await stage.api.remove(`${CLAIMS}/${name}`);
}

async function nothingLeft(): Promise<void> {
  await stage.until("nothing is left", async () => {
    expect([await stage.volumes(), [...keeper.images.keys()]]).toEqual([[], []]);
  });
}

const onVolumes = (method: string) => (request: ApiRequest) => {
  return request.method === method && request.path.startsWith(VOLUMES);
};

describe("an answer of the API server that is lost", () => {
  it("to the creation of a volume leads to no second one", async () => {
    lost = onVolumes("POST");

    const volume = await bound("lost-post");

    expect(lost).toBeUndefined();
    expect((await stage.volumes()).map(({ metadata }) => metadata.name)).toEqual([volume]);
    expect([...keeper.images.keys()]).toEqual([volume]);
    await discard("lost-post");
    await nothingLeft();
  });

  it.each(["DELETE", "PATCH"])("to the %s of a volume that is deleted leaves nothing", async (method) => {
    const name = `lost-${method.toLowerCase()}`;
    await bound(name);
    lost = onVolumes(method);

    await discard(name);

    await nothingLeft();
    expect(lost).toBeUndefined();
  });
});

describe("two provisioners of one node at a time, as while one replaces the other", () => {
  it("make one volume for each claim, and leave nothing", async () => {
    const other = await stage.start("one", keeper);

    const volumes = await Promise.all(["twice-1", "twice-2", "twice-3", "twice-4"].map((name) => bound(name)));

    expect((await stage.volumes()).map(({ metadata }) => metadata.name).sort()).toEqual([...volumes].sort());
    expect([...keeper.images.keys()].sort()).toEqual([...volumes].sort());
    for (const name of ["twice-1", "twice-2", "twice-3", "twice-4"]) await discard(name);
    await nothingLeft();
    await other.stop();
  });
});

describe("two pools", () => {
  it("serve the claims of their classes, and one that is full does not hold up the other", async () => {
    const [first, second] = [await bound("fast-1", "fast"), await bound("fast-2", "fast")];
    await stage.createClaim("fast-3", { storageClassName: "fast" });
    await stage.createPod("fast-3");

    const other = await bound("large");

    const poolOf = (volume: string): string | undefined => keeper.images.get(volume)?.pool;
    expect([first, second, other].map(poolOf)).toEqual(["fast", "fast", "default"]);
    expect((await stage.claim("fast-3")).spec.volumeName).toBe("");
    await discard("fast-1");
    expect(poolOf((await stage.bound("fast-3")).spec.volumeName)).toBe("fast");
    for (const name of ["fast-2", "fast-3", "large"]) await discard(name);
    await nothingLeft();
  });
});

describe("an API server that is away", () => {
  it("changes nothing meanwhile, and carries out earlier requests when it is back", async () => {
    const volume = await bound("away");
    const server = plane.part("kube-apiserver");
    keeper.use(volume);
    await discard("away");
    await stage.event(volume, "VolumeFailedDelete", "in use");
    await server.stop();
    keeper.release(volume);
    const before = keeper.requests.filter(({ verb }) => verb === "remove").length;
    await owner.clock.sleep(5_000, owner.signal);

    // Its word is needed for a deletion: the policy may have been changed to Retain.
    expect(keeper.requests.filter(({ verb }) => verb === "remove").length).toBe(before);
    expect([...keeper.images.keys()]).toEqual([volume]);

    await server.start();
    await nothingLeft();
    expect(await provisioner.metrics.text()).not.toMatch(/mooring_internal_errors_total\{[^}]*\} [1-9]/);
  });
});
