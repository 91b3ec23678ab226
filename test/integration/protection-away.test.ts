import { afterAll, beforeAll, expect, it } from "vitest";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { claimThat } from "../rig/stand-in/stage.ts";
import { enforce, openProtectionScene, type ProtectionScene, pathOf, takeFinalizerAway } from "./protection-scene.ts";

/** What holds claims goes on without the aggregator, without kube-controller-manager, and with an API server that comes back. */

const OURS = "tests.mooring.dev/look";
const KUBERNETES = "kubernetes.io/pvc-protection";
/** So long instead of the hour of a real outage: what is stored does not age, so nothing else happens in an hour. */
const AWAY_MS = 10_000;

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

async function letGo(claim: string): Promise<void> {
  const check = async (): Promise<void> => expect((await scene.read(claim))?.metadata.finalizers).toEqual([OURS]);
  await waitUntil(owner, { what: `${claim} let go`, limitMs: 60_000, check });
}

it("without an aggregator claims stay held, an override works, and on its return they go, with a time that is not too early", async () => {
  const { stage, claims, leftMounted, remove, held, read, gone, kubectl } = scene;
  await claims(["waits", "forced", "still"]);
  await stage.api.patch(pathOf("waits"), { metadata: { finalizers: [KUBERNETES, OURS] } });
  const [waits, forced, still] = [await leftMounted("waits"), await leftMounted("forced"), await leftMounted("still")];
  await stage.aggregator.child.stop();

  for (const claim of ["waits", "forced", "still"]) await remove(claim);
  const unmounted = await stage.kubelets[0].unmount(waits);
  await owner.clock.sleep(AWAY_MS, owner.signal);
  const away = [await held("waits"), await held("still")];
  const uid = (await read("forced"))?.metadata.uid.slice(0, 8);
  await kubectl("annotate", "pvc", "forced", `mooring.dev/force-release=${uid} the aggregator is away`);
  await gone("forced");
  await stage.kubelets[0].unmount(forced);
  await stage.aggregator.start();
  await letGo("waits");
  const { claim } = await claimThat(stage, { claim: "waits", what: "there", holds: () => true });
  await stage.api.patch(pathOf("waits"), { metadata: { finalizers: [] } });
  const kept = await held("still");
  await stage.kubelets[0].unmount(still);
  await gone("still");

  expect(away.map(({ volume }) => volume)).toEqual(["Bound", "Bound"]);
  expect(claim.status).toMatchObject({ unused: true, reason: "Unmounted" });
  expect(claim.status?.sinceMs).toBeGreaterThanOrEqual(unmounted.notBeforeMs);
  expect(kept.claim?.status.conditions).toContainEqual(
    expect.objectContaining({ type: "mooring.dev/Unused", status: "False" }),
  );
});

it("an API server that comes back refuses from its first answer to a write on", async () => {
  const { stage, claims, leftMounted, remove, gone, volumePhase } = scene;
  const { plane } = stage;
  await claims(["restarted"]);
  const pod = await leftMounted("restarted");
  await remove("restarted");
  const server = plane.part("kube-apiserver");
  const answers: { readonly status: number; readonly text: string }[] = [];
  let isOver = false;
  // Without a pause, from before it listens until it says that it is ready: kube-controller-manager tries as well.
  const hammer = async (): Promise<void> => {
    while (!isOver) {
      const answer = await plane.api(takeFinalizerAway("restarted")).catch(() => undefined);
      if (answer !== undefined) answers.push(answer);
      else await owner.clock.sleep(5, owner.signal);
    }
  };

  for (let round = 0; round < 2; round += 1) {
    isOver = false;
    await server.kill();
    const hammers = [hammer(), hammer(), hammer(), hammer()];
    await server.start();
    isOver = true;
    await Promise.all(hammers);
  }

  const byPolicy = answers.filter(({ text }) => text.includes("mooring-protection.mooring.dev"));
  owner.say(
    `${answers.length} answers, ${byPolicy.length} by the policy: ${[...new Set(answers.map(summaryOf))].join("; ")}`,
  );
  expect(answers.filter(({ status }) => status < 300)).toEqual([]);
  expect(byPolicy.length).toBeGreaterThan(0);
  expect(await volumePhase("restarted")).toBe("Bound");
  await stage.kubelets[0].unmount(pod);
  await gone("restarted", 60_000);
});

function summaryOf({ status, text }: { readonly status: number; readonly text: string }): string {
  return `${status} ${text.includes("mooring-protection") ? "the policy" : text.slice(0, 160)}`;
}

it("a kube-controller-manager that comes back releases what was unmounted meanwhile, and nothing else", async () => {
  const { stage, claims, leftMounted, remove, gone, held } = scene;
  const manager = stage.plane.part("kube-controller-manager");
  await claims(["ended", "goes-on"]);
  const [ended, goesOn] = [await leftMounted("ended"), await leftMounted("goes-on")];
  await manager.stop();
  for (const claim of ["ended", "goes-on"]) await remove(claim);
  await stage.kubelets[0].unmount(ended);

  await manager.start();

  await gone("ended");
  const { volume } = await held("goes-on");
  expect(volume).toBe("Bound");
  await stage.kubelets[0].unmount(goesOn);
  await gone("goes-on");
});
