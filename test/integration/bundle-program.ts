// Bundles what tests start often: `node test/integration/bundle-program.ts <folder>`.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, PROGRAMS } from "../../.ci/bundle.ts";
import { SOURCES } from "../rig/process/mooring-program.ts";

const [, , folder] = process.argv;
if (folder === undefined) throw new Error("which folder is not told");
await bundle(folder, { ...PROGRAMS, ...SOURCES });
// The driver reads them when it starts, beside itself.
cpSync(fileURLToPath(new URL("../rig/csi/proto", import.meta.url)), join(folder, "proto"), { recursive: true });
