import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { array, looseObject, object, optional, parse, record, string } from "valibot";

const OUTPUT_LIMIT = 64 * 1024 * 1024;

const List = object({
  items: array(
    looseObject({
      kind: string(),
      metadata: looseObject({
        name: string(),
        namespace: optional(string(), ""),
        labels: optional(record(string(), string()), {}),
      }),
    }),
  ),
});

/** Whose objects are looked through. */
export interface Cluster {
  readonly kubectl: string;
  readonly kubeconfig: string;
}

/** Every object of every kind that the API server lists, but for events, as it is there. */
export async function allObjects({ kubectl, kubeconfig }: Cluster): Promise<ReturnType<typeof decode>> {
  const run = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { maxBuffer: OUTPUT_LIMIT })).stdout;
  const kinds = await run("api-resources", "--verbs=list", "--output=name");
  const listed = kinds
    .trim()
    .split("\n")
    .filter((kind) => !kind.startsWith("events"));
  return decode(await run("get", listed.join(","), "--all-namespaces", "--ignore-not-found", "--output=json"));
}

function decode(text: string) {
  return parse(List, JSON.parse(text)).items;
}

/** Every object but events that has to do with Mooring by its name, namespace or labels: `Kind namespace/name`. */
export async function tracesIn(cluster: Cluster): Promise<readonly string[]> {
  return (await allObjects(cluster))
    .filter(
      ({ metadata }) =>
        JSON.stringify(metadata.labels).includes("mooring") || /mooring/.test(`${metadata.namespace}/${metadata.name}`),
    )
    .map(({ kind, metadata: { name, namespace } }) => `${kind} ${namespace}/${name}`);
}
