import * as v from "valibot";
import { MooringError } from "../runtime/errors.ts";
import { createObject, patchObject, type WriteOutcome } from "./apply.ts";
import { ApiError, type KubeClient } from "./client.ts";

/** Identifies a ConfigMap. */
export interface ConfigMapPlace {
  readonly namespace: string;
  readonly name: string;
}

/** A ConfigMap as it was read. */
export interface ConfigMap {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly data: Texts;
}

/** The whole content of a ConfigMap. */
export type Texts = Readonly<Record<string, string>>;

const object = v.object({
  metadata: v.object({
    uid: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
  }),
  data: v.nullish(v.record(v.string(), v.string())),
});

/** Undefined where the object does not exist. Throws `MooringError`. */
export async function readConfigMap(
  client: KubeClient,
  place: ConfigMapPlace,
  signal: AbortSignal,
): Promise<ConfigMap | undefined> {
  const body = await client.request({ method: "GET", path: pathOf(place) }, signal).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404 && error.details.name === place.name) return undefined;
    throw error;
  });
  if (body === undefined) return undefined;
  const read = v.safeParse(object, body);
  if (!read.success) throw new MooringError("transport-failed", "the answer is no ConfigMap");
  return { ...read.output.metadata, data: read.output.data ?? {} };
}

/** What is to be written, and the state that it was decided on. */
interface ConfigMapWrite {
  readonly place: ConfigMapPlace;
  /** Undefined creates the object; where it exists meanwhile, the entries are added to it. */
  readonly seen: ConfigMap | undefined;
  readonly data: Texts;
  readonly labels: Texts;
  /** The field manager of changes. */
  readonly fieldManager: string;
  /** A field manager that has never written before. */
  readonly creator: string;
}

/** Replaces all entries, binary ones as well, in the state that was seen and in no other. Throws as `applyObject` does. */
export function writeConfigMap(client: KubeClient, write: ConfigMapWrite, signal: AbortSignal): Promise<WriteOutcome> {
  const { place, seen, data, labels, fieldManager, creator } = write;
  const target = { apiVersion: "v1", kind: "ConfigMap", path: pathOf(place), ...place };
  if (seen === undefined)
    return createObject(client, { target, fields: { metadata: { labels }, data }, creator }, signal);
  const { uid, resourceVersion, data: before } = seen;
  const gone = Object.fromEntries(Object.keys(before).map((key) => [key, null]));
  const patch = { data: { ...gone, ...data }, binaryData: null };
  return patchObject(client, { target: { ...target, uid, resourceVersion }, patch, fieldManager }, signal);
}

function pathOf({ namespace, name }: ConfigMapPlace): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}
