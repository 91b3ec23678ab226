import type { DryRunFindings } from "../../../../agent/core/dry-run.ts";
import { scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { surveyTable } from "../../../../agent/core/table-survey.ts";
import { formatMountLine, type MountLine } from "../../../fakes/mount-table.ts";

/** What a dry run finds out on a node where all is as it should be and these mounts are in the table. */
export function findingsOf(
  mounts: readonly (string | MountLine)[] = [],
  change: Partial<DryRunFindings> = {},
): DryRunFindings {
  const lines = ["/", ...mounts].map((mount) => (typeof mount === "string" ? { mountPoint: mount } : mount));
  const text = lines.map(formatMountLine).join("");
  return {
    node: {
      facts: {
        kernel: "6.18.4",
        architecture: "x64",
        distribution: "Debian GNU/Linux 13",
        cgroup: "v2",
        selinux: false,
        apparmor: true,
        mountNamespace: "own",
      },
      bootId: "2580be93-546d-4fa5-bbe7-10ad19d8fba4",
      bootedAt: "2026-11-21T09:59:43Z",
    },
    mountInfo: "/proc/1/mountinfo",
    survey: surveyTable(text),
    scan: scanMountedVolumes({ text, beganAt: 1, endedAt: 2 }, { by: "path", path: "/var/lib/kubelet" }),
    root: { isGiven: false, exists: true },
    changes: { by: "poll" },
    clock: { source: "monotonic-raw", driftPpm: 200 },
    ...change,
  };
}
