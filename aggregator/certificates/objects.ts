import * as v from "valibot";
import { createObject, patchObject, type WriteOutcome } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient, type KubeParts } from "../../common/kube/client.ts";
import { MooringError } from "../../common/runtime/errors.ts";

/** Identifies the object. */
export interface ObjectPlace {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
  /** The type of a Secret, which cannot be changed. */
  readonly type?: string;
}

/** A Secret or ConfigMap as it was read. */
export interface TextObject {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly texts: Texts;
}

/** The whole content of an object. */
export type Texts = Readonly<Record<string, string>>;

const FIELD_MANAGER = "mooring-aggregator";
const LABELS = { "app.kubernetes.io/name": "mooring-aggregator", "app.kubernetes.io/part-of": "mooring" };
const RESOURCES = { Secret: "secrets", ConfigMap: "configmaps" } as const;

const object = v.object({
  metadata: v.object({
    uid: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
  }),
  data: v.nullish(v.record(v.string(), v.string())),
});

/** Undefined where the object does not exist. Throws `MooringError`. */
export async function readTexts(
  client: KubeClient,
  place: ObjectPlace,
  signal: AbortSignal,
): Promise<TextObject | undefined> {
  const body = await client.request({ method: "GET", path: pathOf(place) }, signal).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404 && error.details.name === place.name) return undefined;
    throw error;
  });
  return body === undefined ? undefined : textsOf(place.kind, body);
}

/** Decodes such an object. Throws `MooringError` for anything else. */
export function textsOf(kind: ObjectPlace["kind"], body: unknown): TextObject {
  const read = v.safeParse(object, body);
  if (!read.success) throw new MooringError("transport-failed", `the answer is no ${kind}`);
  const { metadata, data } = read.output;
  const decode = (text: string): string => (kind === "Secret" ? Buffer.from(text, "base64").toString("utf8") : text);
  return { ...metadata, texts: mapped(data ?? {}, decode) };
}

/**
 * Writes an object that was decided on `seen`; where it has changed, appeared or gone since, nothing is written. Throws `MooringError`
 * unless it is done.
 */
export async function writeTexts(
  { client, random }: Pick<KubeParts, "client" | "random">,
  { place, seen, texts }: { place: ObjectPlace; seen: TextObject | undefined; texts: Texts },
  signal: AbortSignal,
): Promise<void> {
  const { kind, namespace, name, type } = place;
  const target = { apiVersion: "v1", kind, path: pathOf(place), namespace, name } as const;
  const encode = (text: string): string => (kind === "Secret" ? Buffer.from(text, "utf8").toString("base64") : text);
  const data = mapped(texts, encode);
  const metadata = { labels: LABELS };
  const create = (): Promise<WriteOutcome> => {
    const fields = { metadata, data, ...(type && { type }) };
    return createObject(client, { target, fields, creator: `${FIELD_MANAGER}-${random.id()}` }, signal);
  };
  const replace = ({ uid, resourceVersion, texts: before }: TextObject): Promise<WriteOutcome> => {
    const gone = Object.fromEntries(Object.keys(before).map((key) => [key, null]));
    const change = { target: { ...target, uid, resourceVersion }, patch: { metadata, data: { ...gone, ...data } } };
    return patchObject(client, { ...change, fieldManager: FIELD_MANAGER }, signal);
  };
  const outcome = await (seen === undefined ? create() : replace(seen));
  if (outcome.kind !== "applied") throw new MooringError("api-rejected", outcome.message);
}

function mapped(texts: Texts, change: (text: string) => string): Texts {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, change(text)]));
}

function pathOf({ kind, namespace, name }: ObjectPlace): string {
  return `/api/v1/namespaces/${namespace}/${RESOURCES[kind]}/${name}`;
}
