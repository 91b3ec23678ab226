import { lstat } from "node:fs/promises";
import type { MountInfoText } from "../common/mounts/core/mount-info.ts";
import { createMountInfoFile } from "../common/mounts/mount-info-file.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { MooringError } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { DryRunConfig } from "./config.ts";
import { type Changes, type DryRunFindings, explainUnreadable, processOf } from "./core/dry-run.ts";
import { asJson, asText } from "./core/dry-run-output.ts";
import { DEFAULT_KUBELET_ROOT, scanMountedVolumes } from "./core/mounted-volumes.ts";
import { surveyTable } from "./core/table-survey.ts";
import { createMountNotifier } from "./sources/mount-notifier.ts";
import { createNodeFacts } from "./sources/node-facts.ts";

/** The output of a dry run, and its exit code. */
export interface DryRunResult {
  readonly text: string;
  readonly code: 0 | 1;
}

interface DryRunParts {
  readonly clock: Clock;
  readonly platform?: string;
  readonly nodeFacts?: typeof createNodeFacts;
  readonly mountNotifier?: typeof createMountNotifier;
}

/** What this machine's mount table shows, and how far it can be trusted, as text or as JSON. It sends nothing. */
export async function dryRun(config: DryRunConfig, parts: DryRunParts): Promise<DryRunResult> {
  const { clock, platform = process.platform } = parts;
  const { mountInfo, output } = config;
  try {
    const text = await createMountInfoFile(mountInfo, { clock }).read();
    const findings = await look(text, config, parts);
    return { text: output === "json" ? asJson(findings) : asText(findings), code: 0 };
  } catch (error) {
    if (!(error instanceof MooringError)) throw error;
    return { text: explainUnreadable({ mountInfo, code: codeOf(error.cause), platform }), code: 1 };
  }
}

async function look(text: MountInfoText, config: DryRunConfig, parts: DryRunParts): Promise<DryRunFindings> {
  const { clock, nodeFacts = createNodeFacts } = parts;
  const { mountInfo, bootId, kubeletRoot } = config;
  const changes = changesOf(mountInfo, parts);
  const seen = await nodeFacts({ mountInfo, bootId }, { clock }).read(new AbortController().signal);
  // In a copy of another machine's table the same numbers mean other mounts.
  const node = changes.by === "nothing" ? { ...seen, facts: { ...seen.facts, mountNamespace: undefined } } : seen;
  const scan = scanMountedVolumes(text, { by: "path", path: kubeletRoot ?? DEFAULT_KUBELET_ROOT });
  // What this process sees at that path says nothing about another mount namespace.
  const exists = node.facts.mountNamespace === "own" ? await isThere(scan.kubeletRoot) : undefined;
  return {
    node,
    mountInfo,
    survey: surveyTable(text.text),
    scan,
    root: { isGiven: kubeletRoot !== undefined, exists },
    changes,
    clock: clock.rate,
  };
}

/** The kubelet's root itself, nothing of a volume. */
async function isThere(path: string): Promise<boolean | undefined> {
  try {
    await lstat(Buffer.from(path, "latin1"));
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT" ? false : undefined;
  }
}

function changesOf(mountInfo: string, { clock, mountNotifier: create = createMountNotifier }: DryRunParts): Changes {
  if (processOf(mountInfo) === undefined) return { by: "nothing" };
  let why = "for an unknown reason";
  const ignore = (): void => {};
  const warn: Logger["warn"] = ({ err }) => {
    why = String(err);
  };
  const logger: Logger = { debug: ignore, info: ignore, warn, error: warn, fatal: warn, child: () => logger };
  const mountNotifier = create(mountInfo, { clock, logger });
  mountNotifier.close();
  return mountNotifier.mode === "poll" ? { by: "poll" } : { by: "timer", why };
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
