// Builds Mooring's image and prints its name, its archive and what makes up its size.
import { statSync } from "node:fs";
import { size } from "../rig/control-plane/progress.ts";
import { runOwned } from "../rig/process/run-owned.ts";
import { buildImage } from "./image.ts";

await runOwned(async (owner) => {
  const { reference, archive } = await buildImage(owner);
  process.stdout.write(`${reference}\n${archive} (${size(statSync(archive).size)})\n`);
});
