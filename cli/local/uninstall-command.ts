import * as v from "valibot";
import type { KubeClient } from "../../common/kube/client.ts";
import { PROVISIONERS } from "../../common/storage/local-volumes.ts";
import { ifAllowed } from "../if-allowed.ts";
import { listPages } from "../list-pages.ts";
import { type Printout, screenOf } from "../print.ts";
import { printable } from "../table.ts";
import { type CommandContext, missingPermissions } from "./commands.ts";
import type { DeletionResult } from "./forget.ts";
import { orphansOf } from "./orphans.ts";
import { sumOf } from "./pools.ts";
import { jsonList, partTable, resultTable, volumeTable } from "./render.ts";
import { sizeText } from "./size-text.ts";
import { readLocalState } from "./source.ts";
import type { LocalState, LocalVolume } from "./state.ts";
import { deleteCommands } from "./uninstall.ts";
import {
  deleteParts,
  type FoundPart,
  findParts,
  stopProvisioners,
  type UninstallPorts,
  undeletableParts,
} from "./uninstall-run.ts";

type Output = CommandContext["output"];

const KEEPING = [
  "Where volumes are to be kept: kubectl delete -k or helm uninstall remove the provisioner all the same. Pods keep their volumes until",
  "the node is rebooted, volumes and images stay, and the provisioner serves them again once it is installed again.",
];

/** Removes the provisioner unless it has volumes; without `isConfirmed`, prints what it would do. */
export async function uninstall(
  { client, clock, output, signal, printLine }: CommandContext & Pick<UninstallPorts, "clock" | "printLine">,
  { isConfirmed }: { readonly isConfirmed: boolean },
): Promise<Printout> {
  const ports = { client, clock, signal, printLine };
  const state = await readLocalState(client, signal);
  if (state.volumes.length > 0) return refused(state, output);
  const found = await findParts(ports);
  if (found.length === 0) {
    const text = output === "json" ? jsonList("UninstalledList", []) : "";
    return { text, notices: ["Nothing is left of the provisioner."], code: 0 };
  }
  const notices = [...imageNotices(state), ...missingPermissions(state), ...(await classNotices(client, signal))];
  const stays = await undeletableParts(ports, found);
  if (stays.length > 0) return { ...resultText(stays, output), notices: ["Nothing was deleted."], code: 1 };
  if (!isConfirmed) return planned(found, { notices, output });
  const failure = await stopProvisioners(ports);
  if (failure !== undefined) {
    const { text, notices } = refused({ ...state, volumes: failure.volumes }, output);
    const why = `The provisioner runs as before: ${printable(failure.why)}.`;
    return { text, notices: [why, ...(failure.volumes.length === 0 ? [] : notices)], code: signal.aborted ? 130 : 1 };
  }
  return done(await deleteParts(ports, found), { notices, output });
}

function refused(state: LocalState, output: Output): Printout {
  const { volumes, nodes } = state;
  const text = output === "json" ? jsonList("LocalVolumeList", volumes) : volumeTable(volumes, screenOf(false));
  const deletions = deleteCommands(volumes, nodes);
  const notices = [
    `Nothing was deleted: the provisioner has ${count(volumes)}.`,
    ...(deletions.length === 0
      ? ["All are being deleted: wait until none is left."]
      : ["What deletes them and their data:"]),
    ...deletions.map((command) => `  ${command}`),
    ...KEEPING,
    ...missingPermissions(state),
  ];
  return { text, notices: notices.map(printable), code: 1 };
}

function count(volumes: readonly LocalVolume[]): string {
  return `${volumes.length} ${volumes.length === 1 ? "volume" : "volumes"} (${sizeText(sumOf(volumes))})`;
}

interface ResultOutput {
  readonly notices: readonly string[];
  readonly output: Output;
}

function planned(found: readonly FoundPart[], { notices, output }: ResultOutput): Printout {
  const parts = found.map(({ kind, name }) => ({ kind, name, path: "" }));
  const items = parts.map(({ kind, name }) => ({ kind, name }));
  const text = output === "json" ? jsonList("UninstallPlan", items) : partTable(parts, screenOf(false));
  const plan = "Nothing was deleted. --yes deletes these objects, and all that is in the namespace.";
  return { text, notices: [...notices.map(printable), plan], code: 1 };
}

function done(results: readonly DeletionResult[], { notices, output }: ResultOutput): Printout {
  const isInterrupted = results.some(({ outcome }) => outcome === "not reached");
  const isWhole = results.every(({ outcome }) => outcome === "deleted" || outcome === "was gone");
  const next = isWhole
    ? "Take it out of what installs it, too: provisioner.enabled of the chart, or the components of your overlay."
    : 'Not all is done: run "uninstall --yes" again.';
  const answer = { ...resultText(results, output), notices: [...notices.map(printable), next] };
  if (isInterrupted) return { ...answer, code: 130 };
  return { ...answer, code: isWhole ? 0 : 1 };
}

function resultText(results: readonly DeletionResult[], output: Output): Pick<Printout, "text"> {
  return { text: output === "json" ? jsonList("UninstalledList", results) : resultTable(results, screenOf(false)) };
}

/** What can no longer be listed once the objects are deleted in which the nodes published it. */
function imageNotices(state: LocalState): readonly string[] {
  const { items, more } = orphansOf(state);
  const images = items.filter(({ kind }) => kind === "image without volume");
  const all = images.length + more;
  if (all === 0) return [];
  const nodes = [...new Set(images.map(({ node }) => node))].join(", ");
  const what = all === 1 ? "1 image without a volume stays" : `${all} images without a volume stay`;
  return [`${what} on ${nodes}: "orphans" names what is there as long as the provisioner runs.`];
}

const classSchema = v.object({ metadata: v.object({ name: v.string() }), provisioner: v.string() });

async function classNotices(client: KubeClient, signal: AbortSignal): Promise<readonly string[]> {
  const path = "/apis/storage.k8s.io/v1/storageclasses";
  const project = (object: unknown) => v.parse(classSchema, object);
  const classes = await ifAllowed("storageclasses", [], () => listPages(client, { path, project }, signal));
  const names = (classes ?? []).flatMap((one) => (PROVISIONERS.includes(one.provisioner) ? one.metadata.name : []));
  if (names.length === 0) return [];
  return [
    "StorageClasses that it served, and that make no volume without it:",
    `  kubectl delete storageclass ${names.join(" ")}`,
  ];
}
