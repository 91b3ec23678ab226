// Prints what keeps this machine from running nodes with Mooring: a JSON list of sentences, empty when they can run.
import { missingForImages } from "../../image/buildah.ts";
import { runOwned } from "../process/run-owned.ts";
import { missingForNodes } from "./preconditions.ts";

await runOwned(async (owner) => {
  process.stdout.write(`${JSON.stringify([...(await missingForNodes(owner)), ...missingForImages()])}\n`);
});
