import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { RouteAnswer } from "../../../common/runtime/http-answer.ts";
import type { Random } from "../../../common/runtime/random.ts";
import type { SimApi } from "./api/api.ts";
import { member } from "./api/json.ts";
import type { Answer, Endpoint, Sender } from "./network.ts";
import type { Life } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

interface ServiceParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly api: SimApi;
  /** How long a change of labels takes until connections go elsewhere. Milliseconds of true time. */
  readonly lagMs: () => number;
}

const NAMESPACE = "mooring";
/** manifests/base/aggregator.yaml; not ready pods are reached, too. */
const ROLE = "mooring.dev/role";
const LEADER = "leader";
/** As `common/runtime/http-server.ts` closes idle connections. */
const KEEP_ALIVE_MS = 5_000;

interface Connection {
  readonly pod: string;
  usedMs: number;
}

/**
 * The Service of the aggregator: it directs new connections to one of the pods with the leader's label, once the label is known. Existing
 * connections stay.
 */
export class Service implements Endpoint {
  readonly #parts: ServiceParts;
  readonly #lives = new Map<string, Life>();
  readonly #connections = new Map<string, Connection>();
  #endpoints: readonly string[] = [];

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    parts.api.observe(({ resource, object }) => {
      if (resource !== "pods" || object.metadata.namespace !== NAMESPACE) return;
      parts.scheduler.after(parts.lagMs(), () => this.#sync());
    });
  }

  /** Registers the process of a pod. */
  add(pod: string, life: Life): void {
    this.#lives.set(pod, life);
  }

  receive(request: HttpRequest, { process }: Sender, respond: (answer: Answer) => void): void {
    const life = this.#connect(process);
    if (life === undefined || (!life.isAlive && life.machine.isUp())) respond("reset");
    else if (life.isAlive) this.#ask(life, { request, process }, respond);
    else respond("silence");
  }

  #ask(
    life: Life,
    { request, process }: { readonly request: HttpRequest; readonly process: string },
    respond: (answer: Answer) => void,
  ): void {
    const broken = (): void => respond(life.machine.isUp() ? "reset" : "silence");
    life.open.add(broken);
    life.deliver(() => {
      const [router] = life.routers;
      if (router === undefined) return void finish(life, broken, () => respond("reset"));
      if (!life.survives("report received", "before")) return;
      const call = { method: request.method, target: request.path, body: async () => request.body ?? "" };
      void router(call).then((answer) => {
        if (!life.survives("report received", "after")) return;
        if (answer.isLast) this.#connections.delete(process);
        finish(life, broken, () => respond(answerOf(answer)));
      });
    });
  }

  #connect(process: string): Life | undefined {
    const { scheduler, random } = this.#parts;
    const known = this.#connections.get(process);
    const now = scheduler.nowMs();
    const isStanding = known !== undefined && now - known.usedMs < KEEP_ALIVE_MS && this.#lives.get(known.pod)?.isAlive;
    const pod = isStanding ? known.pod : this.#endpoints[Math.floor(random.fraction() * this.#endpoints.length)];
    if (pod === undefined) return undefined;
    this.#connections.set(process, { pod, usedMs: now });
    return this.#lives.get(pod);
  }

  #sync(): void {
    this.#endpoints = this.#parts.api
      .list("pods")
      .filter(({ metadata }) => metadata.namespace === NAMESPACE && member(metadata.labels, ROLE) === LEADER)
      .map(({ metadata }) => metadata.name);
  }
}

function finish(life: Life, broken: () => void, respond: () => void): void {
  life.open.delete(broken);
  respond();
}

function answerOf({ status, body }: RouteAnswer): Answer {
  return { status, headers: {}, body };
}
