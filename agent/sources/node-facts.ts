import { readFile } from "node:fs/promises";
import { arch, release } from "node:os";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { factText, type NodeFacts } from "../../common/storage/node-facts.ts";
import { formatSecondsUp } from "../../common/storage/timestamp.ts";
import { namespaceOf, surveyTable } from "../core/table-survey.ts";

/** Facts about the node, and its present boot. */
export interface NodeIdentity {
  readonly facts: NodeFacts;
  readonly bootId: string | undefined;
  /** RFC 3339. */
  readonly bootedAt: string | undefined;
}

/** Called once and rarely. Never rejects: a fact that cannot be found in time is missing. */
export interface NodeFactsSource {
  readonly read: (signal: AbortSignal) => Promise<NodeIdentity>;
}

/** Where the kernel shows facts about itself; tests use other paths. */
export interface KernelPaths {
  readonly mountInfo: string;
  readonly bootId: string;
  readonly ownMountInfo?: string;
  readonly stat?: string;
  readonly filesystems?: string;
  readonly apparmor?: string;
}

interface NodeFactsParts {
  readonly clock: Clock;
  readonly osInfo?: (signal: AbortSignal) => Promise<string | undefined>;
}

/** For all facts together. Milliseconds. */
const LIMIT_MS = 5_000;

export function createNodeFacts(paths: KernelPaths, { clock, osInfo = askOsInfo }: NodeFactsParts): NodeFactsSource {
  return {
    read: async (signal) => {
      const [table, own, bootId, stat, filesystems, apparmor] = await Promise.all([
        textOf(paths.mountInfo),
        textOf(paths.ownMountInfo ?? "/proc/self/mountinfo"),
        textOf(paths.bootId),
        textOf(paths.stat ?? "/proc/stat"),
        textOf(paths.filesystems ?? "/proc/filesystems"),
        textOf(paths.apparmor ?? "/sys/module/apparmor/parameters/enabled"),
      ]);
      const mountNamespace = namespaceOf(table ?? "", own ?? "");
      // In a container it would show the image, not the node.
      const distribution =
        mountNamespace === "own" ? await withDeadline({ clock, signal }, LIMIT_MS, osInfo) : undefined;
      const facts: NodeFacts = {
        kernel: factText(release()),
        architecture: factText(arch()),
        distribution: factText(distribution),
        ...surveyTable(table ?? "").facts,
        // The kernel knows this file system only while SELinux is on (security/selinux/selinuxfs.c).
        selinux: filesystems === undefined ? undefined : /\tselinuxfs$/m.test(filesystems),
        apparmor: filesystems === undefined ? undefined : apparmor?.trim() === "Y",
        mountNamespace,
      };
      return { facts, bootId: factText(bootId), bootedAt: bootedAtIn(stat) };
    },
  };
}

async function askOsInfo(signal: AbortSignal): Promise<string | undefined> {
  const { readOsInfo } = await import("./os-info.ts");
  return await readOsInfo(signal);
}

/** Bytes as latin1, like the mount table; undefined when it cannot be read. */
async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, "latin1").catch(() => undefined);
}

function bootedAtIn(stat: string | undefined): string | undefined {
  const seconds = /^btime (\d{1,12})$/m.exec(stat ?? "")?.[1];
  return seconds === undefined ? undefined : formatSecondsUp(Number(seconds) * 1000);
}
