import { execFile } from "node:child_process";
import { mkdirSync, statfsSync } from "node:fs";
import { promisify } from "node:util";
import { describeExit } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import type { Owner } from "../process/owner.ts";
import { findProgram } from "../process/program.ts";
import { afterLine, BUILD_BEGIN, type BuildState, describeBuild, diskNeeded } from "./build-state.ts";
import { fill } from "./cache.ts";
import { COMPONENTS, type ComponentName, MODULES, type ModuleName, type PinnedModule } from "./components.ts";
import { type Screen, showProgress, size } from "./progress.ts";

const GO_MINOR = 26;
/** Our own module alone, without C and with the Go that is here, so that the programs are the same everywhere. */
const GO_ENVIRONMENT = { CGO_ENABLED: "0", GOWORK: "off", GOTOOLCHAIN: "local" } as const;

/** A usable Go. */
export interface Go {
  /** The path of the program. */
  readonly program: string;
  readonly version: string;
  /** The folder of its build cache. */
  readonly cache: string;
}

/** What to build. */
export interface GoBuild {
  readonly go: Go;
  readonly module: ModuleName;
  /** Programs of that module. */
  readonly names: readonly ComponentName[];
  /** Where they go. */
  readonly folder: string;
  /** Where the progress is shown. */
  readonly screen: Screen;
}

/** The Go in the folders of `path`. Throws a HarnessError when there is none or it is older than 1.26. */
export async function findGo(path: string | undefined): Promise<Go> {
  const program = findProgram("go", path);
  if (program === undefined) throw new HarnessError("there is no program go in the path");
  const [version = "", cache = ""] = (await goEnvironment(program)).split("\n");
  if (isNewEnough(version)) return { program, version, cache };
  throw new HarnessError(`${program} is ${version}, 1.${GO_MINOR} or newer is needed`);
}

/** Whether `go1.26.8` or the like builds the pinned modules. */
export function isNewEnough(version: string): boolean {
  const minor = /^go1\.(\d+)/.exec(version)?.[1];
  return minor !== undefined && Number(minor) >= GO_MINOR;
}

/** Builds the programs by one `go build`, showing how far it is. Throws a HarnessError with Go's last lines. */
export async function goBuild(owner: Owner, build: GoBuild): Promise<void> {
  const { module: moduleName, names, folder, screen } = build;
  const module: PinnedModule = MODULES[moduleName];
  const what = `building ${names.join(", ")} (${module.title} ${module.version})`;
  owner.say(
    `${what} with ${build.go.version}: this happens once and takes ${module.duration} from empty caches on two cores`,
  );
  const meter = createMeter(build.go.cache);
  const run = (args: readonly string[]): Promise<void> =>
    runGo(owner, { go: build.go, module, args, onLine: meter.add });
  const packages = names.map((name) => COMPONENTS[name].package);
  const tags = module.tags === undefined ? [] : ["-tags", module.tags.join(",")];
  const flags = ["-trimpath", "-buildvcs=false", "-ldflags", module.ldflags, ...tags];
  const work = async (): Promise<void> => {
    await run(["list", "-deps", ...flags, "-f", "{{.Stale}}", ...packages]);
    warnOfDisk(owner, diskNeeded(meter.state(), module.diskBytes), build.go.cache);
    await fill(folder, async (unfinished, keep) => {
      await run(["build", "-v", ...flags, "-o", `${unfinished}/`, ...packages]);
      for (const name of names) keep(COMPONENTS[name].output, name);
    });
  };
  const describe = (elapsed: string): string =>
    `${what}: ${describeBuild(meter.state(), module.diskBytes)}, ${elapsed}`;
  await showProgress({ clock: owner.clock, screen }, describe, work());
}

async function goEnvironment(program: string): Promise<string> {
  try {
    const env = { ...process.env, ...GO_ENVIRONMENT };
    return (await promisify(execFile)(program, ["env", "GOVERSION", "GOCACHE"], { env })).stdout;
  } catch (cause) {
    throw new HarnessError("go env fails", { cause });
  }
}

interface GoRun {
  readonly go: Go;
  readonly module: PinnedModule;
  readonly args: readonly string[];
  readonly onLine: (line: string) => void;
}

async function runGo(owner: Owner, { go, module, args, onLine }: GoRun): Promise<void> {
  const child = owner.child({
    name: `go ${args[0]}`,
    command: go.program,
    args,
    cwd: module.folder,
    // Go leaves its work folder behind when a signal ends it; here it goes with the run.
    env: { ...GO_ENVIRONMENT, GOTMPDIR: owner.folder },
    onLine,
  });
  await child.start();
  const exit = await child.exited;
  if (exit.code !== 0) throw new HarnessError(`${child.name} ended with ${describeExit(exit)}:\n${child.tail(5)}`);
}

interface Meter {
  readonly add: (line: string) => void;
  readonly state: () => BuildState;
}

/** Follows what Go prints, and the disk under its cache. */
function createMeter(cache: string): Meter {
  const free = freeDisk(cache);
  let state = BUILD_BEGIN;
  return {
    add: (line) => {
      state = afterLine(state, line);
    },
    state: () => ({ ...state, diskUsed: Math.max(0, free - freeDisk(cache)) }),
  };
}

function warnOfDisk(owner: Owner, needed: number, cache: string): void {
  const free = freeDisk(cache);
  if (free < needed)
    owner.say(`only ${size(free)} of disk are free at ${cache}, the build takes about ${size(needed)}`);
}

function freeDisk(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
