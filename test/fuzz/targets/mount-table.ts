import { scanMountedVolumes } from "../../../agent/core/mounted-volumes.ts";
import { initialState } from "../../../agent/core/node-state.ts";
import { observe } from "../../../agent/core/observe.ts";
import { reportOf } from "../../../agent/core/report.ts";
import { surveyTable } from "../../../agent/core/table-survey.ts";
import { displayPath, findKubeletRoots, parseMountInfo } from "../../../common/mounts/core/mount-info.ts";
import { decodeNodeMessage } from "../../../common/storage/node-report.ts";
import { mountTables } from "../seeds.ts";
import { type FuzzTarget, promise } from "../target.ts";

const ROOT = "/var/lib/kubelet";
const POD = "5b7a6f4e-0000-4000-8000-000000000001";
const OWN = `36 35 0:99 / ${ROOT}/pods/${POD}/volumes/kubernetes.io~projected/kube-api-access ro - tmpfs tmpfs ro\n`;
const HOLD = `37 35 8:1 / ${ROOT}/pods/another/volumes/kubernetes.io~csi/pv-of-the-end/mount rw - ext4 /dev/sda rw\n`;

/** `/proc/<pid>/mountinfo`: the kernel writes it, and everyone who may mount on the node decides its content. */
export const mountTable: FuzzTarget = {
  name: "mount-table",
  about: "/proc/<pid>/mountinfo, whose paths, types and sources are chosen by anyone who mounts",
  seeds: [OWN + HOLD, ...mountTables()],
  words: [
    ...[OWN, HOLD, `${ROOT}/pods/`, "/volumes/kubernetes.io~csi/", "/mount ", "/volumeDevices/", "/globalmount "],
    ...[
      "/volume-subpaths/",
      "plugins/kubernetes.io/csi/",
      "\\040",
      "\\012",
      "\\134",
      "\\04",
      "//deleted",
      " (deleted)",
    ],
    ...[" - ", " master:1 ", "../", "\n", "\r", "\0", "\u00a0", "\u0085", "\u00ff"],
  ],
  take: (text) => {
    takeTable(text);
    for (const root of findKubeletRoots(text, POD))
      promise(!root.includes(" ") || text.includes("\\040"), "a root has no field in it");
    const { facts } = surveyTable(text);
    promise(JSON.stringify(facts).length < 2_000, "the report of a table is short");
    takeMountedVolumes(text);
  },
};

function takeTable(text: string): void {
  const { entries, damagedLines } = parseMountInfo(text, ROOT);
  promise(entries.length + damagedLines <= text.split("\n").length, "no line counts twice");
  promise(
    entries.every(({ mountPoint }) => mountPoint.startsWith(`${ROOT}/`)),
    "what is elsewhere is not kept",
  );
  for (const { mountPoint } of entries) displayPath(mountPoint);
  if (text !== "" && !text.endsWith("\n")) return;
  const more = parseMountInfo(text + HOLD, ROOT);
  promise(more.entries.length === entries.length + 1, "no line hides the one behind it");
}

/** The agent makes a report that the aggregator accepts, of any mount table. */
function takeMountedVolumes(text: string): void {
  const scan = scanMountedVolumes(
    { text, beganAt: 10, endedAt: 11 },
    { by: "own-pod", podUid: POD, override: undefined },
  );
  const snapshot = { scan, podsResourceVersion: "7", pods: new Map() };
  const { state } = observe(initialState("boot-1"), snapshot);
  const identity = { node: "n1", podUid: POD, instance: "run-1", driftPpm: 200, session: "" };
  const report = reportOf(identity, state, 12);
  if (report === undefined) return;
  const decoded = decodeNodeMessage(JSON.parse(JSON.stringify(report)));
  promise(decoded.ok, `its own report is understood: ${decoded.ok ? "" : decoded.problems.join("; ")}`);
}
