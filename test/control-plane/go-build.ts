import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeExit } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { COMPONENTS, type ComponentName, MODULES, type ModuleName } from "./components.ts";

/** Builds programs of one module by one `go build` and puts them into `folder`. */
export async function goBuild(owner: Owner, names: readonly ComponentName[], folder: string): Promise<void> {
  const [first] = names;
  if (first === undefined) return;
  const moduleName: ModuleName = COMPONENTS[first].module;
  const module = MODULES[moduleName];
  mkdirSync(dirname(folder), { recursive: true });
  const unfinished = mkdtempSync(`${folder}.new-`);
  try {
    const child = owner.child({
      name: `go-build-${moduleName}`,
      command: "go",
      args: [
        "build",
        "-trimpath",
        "-ldflags",
        module.ldflags,
        "-o",
        `${unfinished}/`,
        ...names.map((name) => COMPONENTS[name].package),
      ],
      cwd: module.folder,
      env: { CGO_ENABLED: "0" },
    });
    await child.start();
    const exit = await child.exited;
    if (exit.code !== 0) throw new HarnessError(`go build ended with ${describeExit(exit)}: ${child.tail(5)}`);
    mkdirSync(folder, { recursive: true });
    for (const name of names) renameSync(join(unfinished, COMPONENTS[name].output), join(folder, name));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
