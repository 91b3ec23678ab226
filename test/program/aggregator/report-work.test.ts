import { afterEach, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { leadingScene } from "./scene.ts";

afterEach(closeHouses);

/** Some kernels count processor time in ticks of this length. */
const TICK_MS = 10;

/** How long the processor works on a report of so many ends of use of one claim, and until the claim is written. Milliseconds. */
async function workOn(count: number): Promise<number> {
  const scene = await leadingScene();
  const node = scene.node();
  await scene.report();
  await scene.pass(5);
  for (let index = 0; index < count; index += 1) node.unmount(`pod-${index}`);
  const message = node.report();
  const begun = process.threadCpuUsage();
  await scene.send(message);
  await scene.pass(5);
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

it("the work of a report grows with its ends of use of one claim, and not with their square", async () => {
  await workOn(500);

  const [few, many] = [await workOn(100), await workOn(1_000)];

  // Ten times as many: their square would be a hundred.
  expect(many).toBeLessThan(15 * Math.max(few, TICK_MS));
});
