import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiCall } from "../rig/control-plane/api.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { claimThat, NAMESPACE } from "../rig/stand-in/stage.ts";
import { enforce, openProtectionScene, type ProtectionScene, pathOf } from "./protection-scene.ts";

/** What a stolen token, a forged condition and a wrong clock do to claims that are deleted: what SECURITY.md and docs/protection.md say. */

const KUBERNETES = "kubernetes.io/pvc-protection";
const OURS = "tests.mooring.dev/look";
const YEAR_MS = 365 * 24 * 3600 * 1000;
const condition = {
  type: "mooring.dev/Unused",
  message: "forged",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;
const USED = { ...condition, status: "False", reason: "Mounted" } as const;
const UNUSED = { ...condition, status: "True", reason: "Unmounted" } as const;

let owner: Owner;
let signals: Disposable;
let scene: ProtectionScene;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  scene = await openProtectionScene(owner);
  await enforce(scene);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** One condition, as a strategic merge writes it: the others stay. */
async function write(who: ApiCall, claim: string, change: object): Promise<number> {
  const contentType = "application/strategic-merge-patch+json";
  const body = { status: { conditions: [change] } };
  return (await who({ method: "PATCH", path: `${pathOf(claim)}/status`, body, contentType })).status;
}

async function withoutAggregator(during: () => Promise<void>): Promise<void> {
  const { aggregator } = scene.stage;
  await aggregator.child.stop();
  try {
    await during();
  } finally {
    await aggregator.start();
    await aggregator.ready();
  }
}

/** A service account of the namespace with this role in it. */
async function accountWith(role: string): Promise<ApiCall> {
  const name = `with-${role}`;
  await scene.kubectl("create", "serviceaccount", name);
  await scene.kubectl("create", "rolebinding", name, `--clusterrole=${role}`, `--serviceaccount=${NAMESPACE}:${name}`);
  return await scene.stage.plane.apiAs({ namespace: NAMESPACE, name });
}

describe("with the aggregator's token a thief", () => {
  let thief: ApiCall;
  beforeAll(async () => {
    thief = await scene.stage.plane.apiAs({ namespace: "mooring", name: "mooring-aggregator" });
  });

  it("can keep a deleted claim that no pod uses, until the override", async () => {
    const { claims, remove, held, gone, read, kubectl } = scene;
    await claims(["blocked"]);
    await withoutAggregator(async () => {
      expect(await write(thief, "blocked", USED)).toBe(200);

      await remove("blocked");

      expect((await held("blocked")).volume).toBe("Bound");
      const uid = (await read("blocked"))?.metadata.uid.slice(0, 8);
      await kubectl("annotate", "pvc", "blocked", `mooring.dev/force-release=${uid} nobody uses it`);
      await gone("blocked");
    });
  });

  it("lets a deleted claim go that is mounted, where no aggregator corrects it", async () => {
    const { stage, claims, leftMounted, remove, held, gone, released } = scene;
    await claims(["freed"]);
    const pod = await leftMounted("freed");
    await withoutAggregator(async () => {
      await remove("freed");
      expect((await held("freed")).volume).toBe("Bound");

      expect(await write(thief, "freed", UNUSED)).toBe(200);

      await gone("freed");
      await released("freed");
    });
    await stage.kubelets[0].unmount(pod);
  });

  it("sets no override, and takes no finalizer away, by either way to write a claim", async () => {
    const { stage, claims, leftMounted, read } = scene;
    await claims(["attacked"]);
    const pod = await leftMounted("attacked");
    const uid = (await read("attacked"))?.metadata.uid ?? "";
    const contentType = "application/merge-patch+json";
    const changes = [{ annotations: { "mooring.dev/force-release": uid } }, { finalizers: null }];
    const tries = changes.flatMap((metadata) => ["", "/status"].map((suffix) => ({ metadata, suffix })));

    const answers = await Promise.all(
      tries.map(({ metadata, suffix }) =>
        thief({ method: "PATCH", path: `${pathOf("attacked")}${suffix}`, body: { metadata }, contentType }),
      ),
    );

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    await stage.kubelets[0].unmount(pod);
  });
});

describe("a forged condition", () => {
  it.each(["edit", "admin"])("is refused to the role %s", async (role) => {
    const who = await accountWith(role);
    await scene.claims([`for-${role}`]);

    expect([await write(who, `for-${role}`, USED), await write(who, `for-${role}`, UNUSED)]).toEqual([403, 403]);
  });

  it("of a user who may write the status of claims is corrected by the aggregator before the claim is deleted", async () => {
    const { stage, claims, leftMounted, remove, gone, kubectl, released } = scene;
    await kubectl("create", "clusterrole", "status-writer", "--verb=patch", "--resource=persistentvolumeclaims/status");
    const writer = await accountWith("status-writer");
    await claims(["forged"]);
    const pod = await leftMounted("forged");
    // Kubernetes' controller may be faster than the aggregator once the claim is being deleted: it does not look before.
    expect(await write(writer, "forged", UNUSED)).toBe(200);
    const holds = ({ status }: { readonly status: { readonly reason: string } | undefined }): boolean =>
      status?.reason === "Mounted";
    await claimThat(stage, { claim: "forged", what: "corrected", holds });

    await remove("forged");
    const { volume } = await scene.held("forged");
    await stage.kubelets[0].unmount(pod);
    await gone("forged");

    expect(volume).toBe("Bound");
    await released("forged");
  });
});

describe("an aggregator whose wall clock is wrong", () => {
  it.each([
    { name: "ten years behind", shiftMs: -10 * YEAR_MS },
    { name: "ten years ahead", shiftMs: 10 * YEAR_MS },
  ])(
    "by $name keeps a mounted claim, releases it at the unmount, and dates that correctly",
    async ({ name, shiftMs }) => {
      const { stage, claims, leftMounted, remove, held, read } = scene;
      const { aggregator, api, kubelets } = stage;
      const claim = name.replaceAll(" ", "-");
      const file = join(owner.folder, `${claim}.mjs`);
      await writeFile(file, `const now = Date.now; Date.now = () => now() + ${shiftMs};`);
      await aggregator.child.restart({ env: { NODE_OPTIONS: `--import=${pathToFileURL(file)}` } });
      await aggregator.ready();
      await claims([claim]);
      await api.patch(pathOf(claim), { metadata: { finalizers: [KUBERNETES, OURS] } });
      const pod = await leftMounted(claim);

      await remove(claim);
      const { volume } = await held(claim);
      const moment = await kubelets[0].unmount(pod);
      const check = async (): Promise<void> => expect((await read(claim))?.metadata.finalizers).toEqual([OURS]);
      await waitUntil(owner, { what: `${claim} let go`, limitMs: 60_000, check });
      const { claim: last } = await claimThat(stage, { claim, what: "there", holds: () => true });
      await api.patch(pathOf(claim), { metadata: { finalizers: [] } });

      expect(volume).toBe("Bound");
      expect(last.status?.sinceMs).toBeGreaterThanOrEqual(moment.notBeforeMs);
      expect(last.status?.sinceMs).toBeLessThan(owner.clock.wallMs() + 2_000);
    },
  );
});
