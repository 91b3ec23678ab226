import { afterEach, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { CLAIM } from "../objects.ts";
import { leadingScene } from "./scene.ts";

afterEach(closeHouses);

const TARGETS = [
  ...["/v1/claims", "/v1/claims?namespace=shop", "/v1/volumes", "/v1/nodes"],
  ...["/metrics", "/livez?verbose", "/readyz?verbose", "/healthz?verbose"],
];

/** All that an aggregator writes, answers and logs while much happens, and everything is read so often after each step. */
async function played(times: number): Promise<readonly unknown[]> {
  const scene = await leadingScene({ argv: ["--protection", "enforce"] });
  const seen: unknown[] = [];
  scene.house.api.observe(({ type, object }) => seen.push([type, object]));
  const node = scene.node();
  const steps = [
    () => scene.pass(2),
    async () => seen.push(await scene.report()),
    () => scene.addPod("web"),
    () => node.mount("web"),
    async () => seen.push(await scene.report()),
    () => scene.deletePod("web"),
    () => node.unmount("web"),
    () => scene.pass(100),
    async () => seen.push(await scene.report()),
    () => scene.house.api.delete(CLAIM),
    () => scene.pass(400),
  ];
  for (const step of steps) {
    await step();
    const reads = Array.from({ length: times }, () => TARGETS.map((target) => scene.leader.ask(target))).flat();
    await scene.pass(1);
    await Promise.all(reads);
  }
  return [...seen, ...scene.leader.logger.lines];
}

it("reads of an aggregator change nothing of what it writes, answers and logs", async () => {
  const unread = await played(0);
  const read = await played(20);

  const differs = read.findIndex((one, index) => JSON.stringify(one) !== JSON.stringify(unread[index]));
  expect([read[differs], unread[differs]]).toEqual([undefined, undefined]);
  expect(read).toHaveLength(unread.length);
  expect(JSON.stringify(read)).toContain("Unmounted");
});
