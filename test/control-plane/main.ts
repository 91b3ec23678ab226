import { runOwned } from "../process/run-owned.ts";
import { startControlPlane } from "./control-plane.ts";

await runOwned(async (owner) => {
  const begin = owner.clock.monotonicMs();
  const plane = await startControlPlane(owner, { parts: ["kube-controller-manager"] });
  owner.say(`ready after ${((owner.clock.monotonicMs() - begin) / 1000).toFixed(1)} s; Ctrl-C ends it`);
  process.stdout.write(`export KUBECONFIG=${plane.kubeconfig}\nalias kubectl=${plane.kubectl}\n`);
  while (!owner.signal.aborted) await owner.clock.sleep(60_000, owner.signal);
});
