import type { KubeParts } from "../../../common/kube/client.ts";
import { createInformer, type Informer } from "../../../common/kube/informer.ts";
import { type Direct, readList, readSeen, type Seen } from "./direct.ts";
import { type Delivery, ledgerProblems } from "./ledger.ts";

/** What is followed. */
export interface Followed {
  readonly path: string;
  readonly labelSelector?: string;
  readonly listsFrom: "cache" | "quorum";
  /** Keys that are always there: a store without one of them is not whole. */
  readonly pinned: readonly string[];
}

/** How a proxy's records name a collection. */
export function collectionOf({ path, labelSelector }: Pick<Followed, "path" | "labelSelector">): string {
  return labelSelector === undefined ? path : `${path} labelSelector=${labelSelector}`;
}

/** An informer under test, with all that it says written down. */
export class Follower {
  readonly followed: Followed;
  readonly collection: string;
  readonly informer: Informer<Seen>;
  readonly #deliveries: Delivery[] = [];
  readonly #problems = new Set<string>();
  #hadSynced = false;
  #compared = 0;

  constructor(parts: KubeParts, followed: Followed) {
    const { path, labelSelector, listsFrom } = followed;
    this.followed = followed;
    this.collection = collectionOf(followed);
    this.informer = createInformer(parts, {
      collection: { path, listsFrom, ...(labelSelector === undefined ? {} : { query: { labelSelector } }) },
      project: readSeen,
      onChange: ({ kind, object }) => this.#deliveries.push({ kind, object }),
      onReplaced: () => this.#look(),
    });
  }

  /** How many of its states were compared with what the API server says they were. */
  get compared(): number {
    return this.#compared;
  }

  /**
   * Compares its store with the collection as it was at the resource version that it claims to have reached: the API server
   * remembers, as long as nobody compacts.
   */
  async compare(direct: Direct): Promise<void> {
    this.#look();
    const claimed = this.informer.resourceVersion();
    const held = this.#held();
    if (claimed === undefined) return;
    const truth = await readList(direct, this.#listPath(`resourceVersion=${claimed}&resourceVersionMatch=Exact`));
    if (truth === undefined) return;
    this.#compared += 1;
    const then = lines(truth.objects);
    for (const line of lines(held)) if (!then.has(line)) this.#problems.add(`held at ${claimed}, wrongly: ${line}`);
    for (const line of then) if (!lines(held).has(line)) this.#problems.add(`not held at ${claimed}: ${line}`);
  }

  /** What its store still lacks or has too much, compared with a fresh list; undefined when there is no list to be had. */
  async behind(direct: Direct): Promise<readonly string[] | undefined> {
    const fresh = await readList(direct, this.#listPath(""));
    if (fresh === undefined) return undefined;
    const [now, held] = [lines(fresh.objects), lines(this.#held())];
    return [...now.symmetricDifference(held)];
  }

  /** All that was wrong with what it said and held. */
  async problems(direct: Direct): Promise<readonly string[]> {
    this.#look();
    const fresh = await readList(direct, this.#listPath(""));
    if (fresh === undefined) return ["there is no fresh list"];
    const canReturn = this.followed.labelSelector !== undefined;
    return [...this.#problems, ...ledgerProblems(this.#deliveries, { fresh: fresh.objects, canReturn })];
  }

  /** Whether `hasSynced` is true of what is held. */
  #look(): void {
    const { informer, followed } = this;
    const hasSynced = informer.hasSynced();
    if (this.#hadSynced && !hasSynced) this.#problems.add("had synced, and then says that it had not");
    if (!hasSynced && informer.resourceVersion() !== undefined) this.#problems.add("is somewhere, and has not synced");
    this.#hadSynced ||= hasSynced;
    const missing = hasSynced ? followed.pinned.filter((key) => informer.get(key) === undefined) : [];
    for (const key of missing) this.#problems.add(`says that it has synced, without ${key}`);
  }

  #held(): readonly Seen[] {
    return [...this.informer.all()];
  }

  #listPath(query: string): string {
    const { path, labelSelector } = this.followed;
    const selector = labelSelector === undefined ? "" : `labelSelector=${encodeURIComponent(labelSelector)}`;
    return `${path}?${[selector, query].filter((part) => part !== "").join("&")}`;
  }
}

function lines(objects: readonly Seen[]): Set<string> {
  return new Set(objects.map(({ key, uid, resourceVersion }) => `${key} ${uid}@${resourceVersion}`));
}
