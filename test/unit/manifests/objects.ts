import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type KubernetesObject,
  loadAllYaml,
  type V1Container,
  type V1DaemonSet,
  type V1Deployment,
  type V1PodSpec,
  type V1PodTemplateSpec,
} from "@kubernetes/client-node";

const MANIFESTS = fileURLToPath(new URL("../../../manifests", import.meta.url));

/** The text of a file below manifests/. */
export function textOf(path: string): string {
  return readFileSync(join(MANIFESTS, path), "utf8");
}

/** The objects in a file below manifests/, of the type that the caller expects. */
export function objectsIn<T extends KubernetesObject>(path: string, kind: string): readonly T[] {
  return loadAllYaml(textOf(path)).filter((object) => object.kind === kind);
}

/** The one object of its kind in a file. */
export function objectIn<T extends KubernetesObject>(path: string, kind: string): T {
  const [found, ...others] = objectsIn<T>(path, kind);
  if (found === undefined || others.length > 0)
    throw new Error(`${path} has ${others.length + 1} of kind ${kind}, or none`);
  return found;
}

export const agent = objectIn<V1DaemonSet>("base/agent.yaml", "DaemonSet");
export const aggregator = objectIn<V1Deployment>("base/aggregator.yaml", "Deployment");

/** What is to become of a template: a pod of one container. */
export interface Template {
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: V1PodSpec;
  readonly container: V1Container;
}

/** The parts of a template that tests look at. */
export function templateOf({ metadata, spec }: V1PodTemplateSpec): Template {
  const [container, ...others] = spec?.containers ?? [];
  if (spec === undefined || container === undefined || others.length > 0) throw new Error("not a pod of one container");
  return { labels: metadata?.labels ?? {}, pod: spec, container };
}

export const WORKLOADS = [
  { name: "the agent", ...templateOf(agent.spec?.template ?? {}) },
  { name: "the aggregator", ...templateOf(aggregator.spec?.template ?? {}) },
] as const;

/** A container's environment as the kubelet makes it of the fields of such a pod. */
export function environmentOf({ env = [] }: Pick<V1Container, "env">): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [name, value ?? `value-of-${valueFrom?.fieldRef?.fieldPath}`]),
  );
}
