import * as v from "valibot";
import { patchObject } from "../../common/kube/apply.ts";
import type { KubeClient, KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { MooringError } from "../../common/runtime/errors.ts";

/** The label that the Service of the aggregator selects: the leader's pod has it. */
export const ROLE_LABEL = "mooring.dev/role";
export const LEADER_ROLE = "leader";

interface LabelParts extends KubeParts {
  /** Writes only while this replica leads. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pod: string;
}

const RETRY = { firstMs: 250, maxMs: 10_000 } as const;
/** After this time the leader corrects a label that another client changed. Milliseconds. */
const LOOK_AGAIN_MS = 30_000;

const metadata = v.object({ name: v.string(), uid: v.pipe(v.string(), v.minLength(1)) });
const podList = v.object({ items: v.array(v.object({ metadata })) });
type FoundPod = v.InferOutput<typeof metadata>;

const UNLABELLED = "the pod has not been labelled yet";

/** Keeps the label on the leader's own pod and off all others. A former leader leaves it to the next one. */
export class LeaderLabel {
  readonly #parts: LabelParts;
  /** Why the Service does not select this pod; undefined when it does. */
  problem: string | undefined = UNLABELLED;

  constructor(parts: LabelParts) {
    this.#parts = parts;
  }

  run(signal: AbortSignal): Promise<void> {
    this.problem = UNLABELLED;
    const task = (limited: AbortSignal): Promise<void> => this.#claim(limited);
    const warn = (err: string): void =>
      this.#parts.logger.warn({ err }, "own pod could not be labelled as the leader's");
    const onOutcome = (problem: string | undefined): void => {
      this.problem = problem;
    };
    return repeat(this.#parts, { task, everyMs: LOOK_AGAIN_MS, retry: RETRY, warn, onOutcome }, signal);
  }

  async #claim(signal: AbortSignal): Promise<void> {
    const { logger, namespace, pod } = this.#parts;
    const labelled = await this.#list({ labelSelector: `${ROLE_LABEL}=${LEADER_ROLE}` }, signal);
    // The previous leader keeps its label: the Service would still send reports to its pod.
    for (const other of labelled.filter(({ name }) => name !== pod)) {
      await this.#put({ ...other, role: null }, signal);
      logger.info({ pod: `${namespace}/${other.name}` }, "another pod is no longer labelled as the leader's");
    }
    if (labelled.some(({ name }) => name === pod)) return;
    const [mine] = await this.#list({ fieldSelector: `metadata.name=${pod}` }, signal);
    if (mine === undefined) throw new MooringError("api-rejected", `there is no pod ${namespace}/${pod}`);
    await this.#put({ ...mine, role: LEADER_ROLE }, signal);
    logger.info({ pod: `${namespace}/${pod}` }, "own pod is labelled as the leader's");
  }

  async #list(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly FoundPod[]> {
    const answer = await this.#parts.client.request({ method: "GET", path: this.#path, query }, signal);
    const read = v.safeParse(podList, answer);
    if (!read.success) throw new MooringError("transport-failed", "the answer is no list of pods");
    return read.output.items.map(({ metadata }) => metadata);
  }

  async #put({ name, uid, role }: FoundPod & { readonly role: string | null }, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#parts;
    const target = { apiVersion: "v1", kind: "Pod", path: `${this.#path}/${name}`, namespace, name, uid };
    const patch = { metadata: { labels: { [ROLE_LABEL]: role } } };
    const outcome = await patchObject(client, { target, patch, fieldManager: "mooring-aggregator" }, signal);
    // A pod that is gone, or was re-created, has no label to remove; this replica looks for its own pod again.
    if (outcome.kind === "refused") throw new MooringError("api-rejected", outcome.message);
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#parts.namespace}/pods`;
  }
}
