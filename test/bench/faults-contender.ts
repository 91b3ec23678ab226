import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { kubeconfig } from "../rig/control-plane/kubeconfig.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { Tally } from "../rig/faults/arming.ts";
import { type Direct, readList, type Seen } from "../rig/faults/direct.ts";
import type { RequestRecord } from "../rig/faults/exchange.ts";
import type { Delivery } from "../rig/faults/ledger.ts";
import { gapsOf, hasFailedOrBroken, hastyCount } from "../rig/faults/pacing.ts";
import { type FaultProxy, startFaultProxy } from "../rig/faults/proxy.ts";
import type { World } from "../rig/faults/world.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import { type ChildTask, pathOf, type ToFollow } from "./faults-child.ts";
import { differences, type Score, score, total } from "./faults-score.ts";
import { residentMiB } from "./process-figures.ts";

/** Who follows, and how. */
export interface ContenderPlan {
  readonly name: string;
  readonly script: "faults-mooring.ts" | "faults-client-node.ts";
  readonly restarts: boolean;
}

/** A contender and its program. */
export interface Figures extends Score, Tally {
  readonly connections: number;
  readonly requests: number;
  /** Retries without a pause after a failure, or sooner than the answer's `Retry-After`. */
  readonly hasty: number;
  /** By how many objects its stores differed from the server's at a moment of the storm, on average. */
  readonly behind: number;
  /** From the end of the storm until every store was as the server's, milliseconds; nothing when it never was. */
  readonly caughtUpMs: number | undefined;
  /** Undefined when the process has ended. */
  readonly mib: number | undefined;
}

interface Started {
  readonly plan: ContenderPlan;
  readonly task: ChildTask;
}

const seen = v.object({ key: v.string(), uid: v.string(), resourceVersion: v.string() });
const reported = v.object({
  collection: v.number(),
  kind: v.picklist(["added", "updated", "deleted"]),
  object: seen,
});
const stores = v.array(v.array(seen));
const ANSWER_MS = 5_000;
/** A retry without a pause takes a turn of the event loop; the shortest pause of either contender is 100 ms. */
const AT_ONCE_MS = 50;
/** Only counts of gaps are taken, which no pace has a part in. */
const PACE = { firstMs: 0, maxMs: 0, toleranceMs: 0 };

/** A program that follows collections through a proxy of its own, in a process of its own. */
export class Contender {
  readonly plan: ContenderPlan;
  readonly proxy: FaultProxy;
  readonly #follow: readonly ToFollow[];
  readonly #port: number;
  readonly #deliveries: readonly Delivery[][];
  readonly #child: OwnedChild;
  readonly #samples: number[] = [];
  #caughtUpMs: number | undefined;

  private constructor(owner: Owner, proxy: FaultProxy, { plan, task }: Started) {
    this.plan = plan;
    this.proxy = proxy;
    this.#follow = task.follow;
    this.#port = task.port;
    this.#deliveries = task.follow.map(() => []);
    const { hostname, port } = new URL(proxy.url);
    this.#child = owner.child({
      name: `contender-${task.port}`,
      command: process.execPath,
      args: [join(import.meta.dirname, plan.script), JSON.stringify(task)],
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      onLine: (line) => this.#onLine(line),
    });
  }

  /** Starts the proxy and the program. */
  static async start(
    { owner, world }: { readonly owner: Owner; readonly world: World },
    plan: ContenderPlan,
    follow: readonly ToFollow[],
  ): Promise<Contender> {
    const proxy = await startFaultProxy({
      protocol: "h2",
      target: world.identity,
      clock: owner.clock,
      // A slow client would otherwise meet all refusals that were meant for an earlier time.
      isTimed: true,
    });
    owner.defer(() => proxy.close());
    const port = await freePort(createSystemRandom(), "127.0.0.1");
    const access = join(owner.folder, `access-${port}`);
    if (plan.script === "faults-mooring.ts") writeServiceAccount(access, proxy);
    else writeFileSync(access, kubeconfig(proxy, { token: "none" }));
    const task = { follow, port, access, restarts: plan.restarts };
    const contender = new Contender(owner, proxy, { plan, task });
    await contender.#child.start();
    return contender;
  }

  /** By how many objects its stores differ from the server's now; undefined when either does not answer. */
  async lag(direct: Direct): Promise<number | undefined> {
    const [stored, fresh] = [await this.#stored(), await this.#fresh(direct)];
    if (stored === undefined || fresh === undefined) return undefined;
    return fresh.reduce((count, objects, index) => count + differences(stored[index] ?? [], objects), 0);
  }

  /** Records the present difference. While the API server is down there is nothing to compare. */
  async sample(direct: Direct): Promise<void> {
    const lag = await this.lag(direct);
    if (lag !== undefined) this.#samples.push(lag);
  }

  /** Records when the stores first equalled the server's after the storm. */
  async look(direct: Direct, sinceMs: number): Promise<boolean> {
    if (this.#caughtUpMs === undefined && (await this.lag(direct)) === 0) this.#caughtUpMs = sinceMs;
    return this.#caughtUpMs !== undefined;
  }

  async figures(direct: Direct): Promise<Figures> {
    const [stored = [], fresh] = [await this.#stored(), await this.#fresh(direct)];
    if (fresh === undefined) throw new HarnessError("the API server does not list what was followed");
    const scores = fresh.map((objects, index) =>
      score({ deliveries: this.#deliveries[index] ?? [], stored: stored[index] ?? [], fresh: objects }),
    );
    const { pid } = this.#child;
    return {
      ...total(scores),
      ...this.proxy.tally(),
      connections: this.proxy.connections().ever,
      requests: this.proxy.requests().length,
      hasty: hastyIn(this.proxy.requests()),
      behind: this.#samples.reduce((all, one) => all + one, 0) / this.#samples.length,
      caughtUpMs: this.#caughtUpMs,
      mib: pid === undefined ? undefined : residentMiB(pid),
    };
  }

  /** Standard error arrives in the same lines, and is no JSON. */
  #onLine(line: string): void {
    if (!line.startsWith('{"collection":')) return;
    const { collection, kind, object } = v.parse(reported, JSON.parse(line));
    this.#deliveries[collection]?.push({ kind, object });
  }

  async #stored(): Promise<readonly (readonly Seen[])[] | undefined> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#port}`, { signal: AbortSignal.timeout(ANSWER_MS) });
      return v.parse(stores, await answer.json());
    } catch {
      // Not started yet, or ended.
      return undefined;
    }
  }

  async #fresh(direct: Direct): Promise<readonly (readonly Seen[])[] | undefined> {
    const lists = await Promise.all(
      this.#follow.map(({ labelSelector, ...collection }) => {
        const query = labelSelector === undefined ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
        return readList(direct, `${pathOf(collection)}${query}`);
      }),
    );
    return lists.includes(undefined) ? undefined : lists.flatMap((list) => (list === undefined ? [] : [list.objects]));
  }
}

/** Each collection has a back-off of its own. */
function hastyIn(requests: readonly RequestRecord[]): number {
  const byCollection = [...Map.groupBy(requests, ({ collection }) => collection).values()];
  return byCollection.reduce(
    (count, records) => count + hastyCount(gapsOf(records, PACE, hasFailedOrBroken), AT_ONCE_MS),
    0,
  );
}

/** The files of a pod's service account, with the proxy's CA. The proxy authenticates no client. */
function writeServiceAccount(folder: string, { ca }: Pick<FaultProxy, "ca">): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "ca.crt"), ca);
  writeFileSync(join(folder, "token"), "none");
}
