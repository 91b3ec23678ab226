import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type KubernetesObject, loadAllYaml } from "@kubernetes/client-node";
import { inject } from "vitest";
import type { ManifestTools } from "./global-setup.ts";

export const MANIFESTS = fileURLToPath(new URL("../../manifests", import.meta.url));
export const CHART = `${MANIFESTS}/helm/mooring`;
const run = promisify(execFile);

/** What a program printed. Throws with what it wrote to standard error when it failed. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one of the tools; throws what was tried when it could not be had. */
export async function tool(name: keyof ManifestTools, ...args: readonly string[]): Promise<Printed> {
  const tools = inject("manifestTools");
  if ("problem" in tools) throw new Error(tools.problem);
  return await run(tools[name], [...args], { maxBuffer: 64 * 1024 * 1024 });
}

/** What the chart renders with a file of values below its folder `ci`, and more values. */
export async function helmTemplate(values: string, ...more: readonly string[]): Promise<string> {
  const file = `${CHART}/ci/${values}-values.yaml`;
  return (await tool("helm", "template", "mooring", CHART, "--values", file, ...more)).stdout;
}

/** What kustomize makes of a folder. */
export async function kustomize(folder: string): Promise<string> {
  return (await run(inject("kubectl"), ["kustomize", folder], { maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** Writes an overlay of the base with components, as an administrator does, into a folder of that name below `parent`; and answers which. */
export async function overlay(
  parent: string,
  name: string,
  { components, image = {} }: { readonly components: readonly string[]; readonly image?: object },
): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder);
  const path = (to: string): string => relative(folder, `${MANIFESTS}/${to}`);
  const kustomization = {
    resources: [path("base")],
    components: components.map((component) => path(`components/${component}`)),
    images: [{ name: "mooring", ...image }],
  };
  await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
  return folder;
}

/** Manifests by kind, namespace and name. Throws when an object is there twice. */
export function byName(manifests: string): ReadonlyMap<string, KubernetesObject> {
  const objects = loadAllYaml(manifests).filter((one) => one !== null);
  const named = objects.map((one) => [nameOf(one), one] as const);
  const map = new Map(named);
  if (map.size < named.length) throw new Error(`twice: ${named.map(([name]) => name).toSorted()}`);
  return map;
}

function nameOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata?.namespace ?? ""}/${metadata?.name}`;
}
