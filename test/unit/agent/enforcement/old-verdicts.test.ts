import { afterEach, expect, it } from "vitest";
import { endScenes, NODE, node, PV, pod, podAt, RUNNING, startScene, volume } from "./scene.ts";

afterEach(endScenes);

const OTHERS = ["a", "b", "c", "d", "e"];

it("a pod is not rejected where the volume of all pods of its node was edited while they ran", async () => {
  const { cluster, advance, phase } = await startScene();
  cluster.put(PV, volume("a"));
  for (const name of OTHERS) cluster.put(podAt(name), pod(name));
  await advance(10_000);
  for (const name of OTHERS) cluster.put(podAt(name), pod(name, { status: RUNNING }));
  await advance(600_000);
  cluster.put(PV, volume("b"));
  await advance(3_600_000);

  cluster.put(podAt("web"), pod("web"));
  await advance(120_000);

  expect(phase("web")).toBe("Pending");
});

it("a pod is not rejected where the other pods of its node could not be read after a change of labels", async () => {
  const { cluster, advance, phase } = await startScene();
  cluster.put(PV, volume("a"));
  for (const name of OTHERS) cluster.put(podAt(name), pod(name, { status: RUNNING }));
  await advance(10_000);
  cluster.put(NODE, node("c"));
  cluster.intercept = ({ path }) => (/pods\/[a-e]$/.test(path) ? { status: 503 } : undefined);
  await advance(1_900_000);
  cluster.intercept = () => undefined;
  await advance(3_600_000);

  cluster.put(podAt("web"), pod("web"));
  await advance(120_000);

  expect(phase("web")).toBe("Pending");
});

it("a wrong pod is rejected although every second read of its volume fails", async () => {
  let reads = 0;
  const { cluster, advance, phase } = await startScene({}, (begun) => {
    begun.intercept = ({ path }) => {
      if (!path.startsWith(PV)) return undefined;
      reads += 1;
      return reads % 2 === 1 ? { status: 503 } : undefined;
    };
  });
  cluster.put(podAt("web"), pod("web"));

  await advance(60_000);

  expect(phase("web")).toBe("Failed");
});
