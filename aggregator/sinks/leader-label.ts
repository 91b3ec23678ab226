import * as v from "valibot";
import { patchObject } from "../../common/kube/apply.ts";
import type { KubeClient, KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/** The label that the Service of the aggregator selects: the leader's pod has it. */
export const ROLE_LABEL = "mooring.dev/role";
export const LEADER_ROLE = "leader";

/** `client` writes also after this replica has stopped leading. */
interface LabelParts extends KubeParts {
  /** Writes only while this replica leads. */
  readonly fenced: KubeClient;
  readonly namespace: string;
  readonly pod: string;
}

const RETRY = { firstMs: 250, maxMs: 10_000 } as const;
/** After this time the leader corrects a label that another client changed. Milliseconds. */
const LOOK_AGAIN_MS = 30_000;
const DROP_LIMIT_MS = 2_000;
const FIELD_MANAGER = "mooring-aggregator";

const podSchema = v.object({
  metadata: v.object({ name: v.string(), uid: v.pipe(v.string(), v.minLength(1)), resourceVersion: v.string() }),
});
const podList = v.object({ items: v.array(podSchema) });
type FoundPod = v.InferOutput<typeof podSchema>["metadata"];

const LABELLED = `${ROLE_LABEL}=${LEADER_ROLE}`;
const UNLABELLED = "the pod has not been labelled yet";

/** Keeps the label on the leader's own pod and off all others. */
export class LeaderLabel {
  readonly #parts: LabelParts;
  /** Why the Service does not select this pod; undefined when it does. */
  problem: string | undefined = UNLABELLED;

  constructor(parts: LabelParts) {
    this.#parts = parts;
  }

  run(signal: AbortSignal): Promise<void> {
    const task = (limited: AbortSignal): Promise<void> => this.#claim(limited);
    const warn = (err: string): void =>
      this.#parts.logger.warn({ err }, "own pod could not be labelled as the leader's");
    const onOutcome = (problem: string | undefined): void => {
      this.problem = problem;
    };
    return repeat(this.#parts, { task, everyMs: LOOK_AGAIN_MS, retry: RETRY, warn, onOutcome }, signal);
  }

  /** Removes the label if that takes little time: else the next leader does. Answers the pod's new resource version, if it changed. */
  async drop(): Promise<string | undefined> {
    const { clock, client, logger, pod } = this.#parts;
    this.problem = UNLABELLED;
    const { signal } = new AbortController();
    const drop = async (limited: AbortSignal): Promise<string | undefined> => {
      const [mine] = await this.#list({ labelSelector: LABELLED, fieldSelector: `metadata.name=${pod}` }, limited);
      return mine && (await this.#put(client, { ...mine, role: null }, limited));
    };
    try {
      return await withDeadline({ clock, signal }, DROP_LIMIT_MS, drop);
    } catch (error) {
      if (!(error instanceof MooringError || v.isValiError(error))) throw error;
      logger.warn({ err: messageOf(error) }, "own pod is still labelled as the leader's");
      return undefined;
    }
  }

  async #claim(signal: AbortSignal): Promise<void> {
    const { fenced, logger, namespace, pod } = this.#parts;
    const labelled = await this.#list({ labelSelector: LABELLED }, signal);
    // A leader that was killed could not remove its label: the Service would still send reports to its pod.
    for (const other of labelled.filter(({ name }) => name !== pod)) {
      await this.#put(fenced, { ...other, role: null }, signal);
      logger.info({ pod: `${namespace}/${other.name}` }, "another pod is no longer labelled as the leader's");
    }
    if (labelled.some(({ name }) => name === pod)) return;
    const [mine] = await this.#list({ fieldSelector: `metadata.name=${pod}` }, signal);
    if (mine === undefined) throw new MooringError("api-rejected", `there is no pod ${namespace}/${pod}`);
    await this.#put(fenced, { ...mine, role: LEADER_ROLE }, signal);
    logger.info({ pod: `${namespace}/${pod}` }, "own pod is labelled as the leader's");
  }

  async #list(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly FoundPod[]> {
    const answer = await this.#parts.client.request({ method: "GET", path: this.#path, query }, signal);
    const read = v.safeParse(podList, answer);
    if (!read.success) throw new MooringError("transport-failed", "the answer is no list of pods");
    return read.output.items.map(({ metadata }) => metadata);
  }

  /** Answers the pod's resource version; nothing when the pod is gone. */
  async #put(
    client: KubeClient,
    { name, uid, role }: Pick<FoundPod, "name" | "uid"> & { readonly role: string | null },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const path = `${this.#path}/${name}`;
    const target = { apiVersion: "v1", kind: "Pod", path, namespace: this.#parts.namespace, name, uid };
    const patch = { metadata: { labels: { [ROLE_LABEL]: role } } };
    const outcome = await patchObject(client, { target, patch, fieldManager: FIELD_MANAGER }, signal);
    // A pod that is gone, or was re-created, has no label to remove; this replica looks for its own pod again.
    if (outcome.kind === "refused") throw new MooringError("api-rejected", outcome.message);
    return outcome.kind === "applied" ? v.parse(podSchema, outcome.object).metadata.resourceVersion : undefined;
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#parts.namespace}/pods`;
  }
}
