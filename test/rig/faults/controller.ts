import * as v from "valibot";
import { applyObject } from "../../../common/kube/apply.ts";
import type { KubeParts } from "../../../common/kube/client.ts";
import { createInformer, type Informer } from "../../../common/kube/informer.ts";
import { WorkQueue } from "../../../common/kube/work-queue.ts";
import type { Direct, Seen } from "./direct.ts";

/** A config map as this controller looks at it. */
interface Copied extends Seen {
  readonly name: string;
  readonly namespace: string;
  readonly version: string | undefined;
  readonly copy: string | undefined;
}

const ANNOTATION = "faults/copy";
const configMap = v.object({
  metadata: v.object({
    name: v.string(),
    namespace: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    labels: v.optional(v.object({ version: v.optional(v.string()) })),
    annotations: v.optional(v.object({ [ANNOTATION]: v.optional(v.string()) })),
  }),
});

/** A controller in small: it copies the label `version` of each config map into an annotation, by informer, queue and apply. */
export class CopyController {
  readonly #parts: KubeParts;
  readonly #path: string;
  readonly #queue: WorkQueue;
  readonly #informer: Informer<Copied>;
  /** Refusals that nothing in a storm can cause. */
  readonly #problems: string[] = [];

  constructor(parts: KubeParts, path: string) {
    this.#parts = parts;
    this.#path = path;
    this.#queue = new WorkQueue(parts);
    this.#informer = createInformer(parts, {
      collection: { path, listsFrom: "quorum" },
      project: readCopied,
      onChange: ({ object }) => this.#queue.add(object.key),
    });
  }

  /** Works until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const work = (key: string): Promise<void> => this.#work(key, signal);
    await Promise.all([this.#informer.run(signal), this.#queue.run(work, signal)]);
  }

  /** Objects whose copy is not what it should be; undefined when there is no list to be had. */
  async behind(direct: Direct): Promise<readonly string[] | undefined> {
    const answer = await direct.call({ path: this.#path }).catch(() => undefined);
    if (answer?.status !== 200) return undefined;
    const { items } = v.parse(v.object({ items: v.array(v.unknown()) }), JSON.parse(answer.text));
    const late = items.map(readCopied).filter(({ version, copy }) => version !== copy);
    return late.map(({ key, version, copy }) => `${key} has the copy ${copy} of ${version}`);
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const object = this.#informer.get(key);
    if (object?.version === undefined || object.version === object.copy) return;
    const { name, namespace, uid, resourceVersion, version } = object;
    const target = { apiVersion: "v1", kind: "ConfigMap", path: `${this.#path}/${name}`, namespace, name };
    const outcome = await applyObject(
      this.#parts.client,
      {
        target: { ...target, uid, resourceVersion },
        fields: { metadata: { annotations: { [ANNOTATION]: version } } },
        options: { fieldManager: "faults", force: true },
      },
      signal,
    );
    // Of a conflict and of what is gone the informer hears, too: the key comes again.
    if (outcome.kind === "refused") this.#problems.push(`${key} was refused: ${outcome.message}`);
  }
}

function readCopied(object: unknown): Copied {
  const { name, namespace, uid, resourceVersion, labels, annotations } = v.parse(configMap, object).metadata;
  const key = `${namespace}/${name}`;
  return { key, name, namespace, uid, resourceVersion, version: labels?.version, copy: annotations?.[ANNOTATION] };
}
