import type { HttpRequest } from "../../../common/kube/transport.ts";
import { textAt } from "../engine/api/json.ts";
import type { Json } from "../engine/api/objects.ts";
import { CLAIMS, get, type Identity, idOf } from "./requests.ts";
import type { ServerAnswer, ServerUnderTest } from "./server-under-test.ts";
import { eventView } from "./views.ts";

/** The compared result of one step: everything that Mooring reads, with names in place of generated values. */
export interface Seen {
  readonly name: string;
  readonly seen: Json;
}

/** A server under test, and the results of its steps. */
export class Session {
  readonly seen: Seen[] = [];
  readonly #server: ServerUnderTest;
  #claim: ServerAnswer | undefined;

  constructor(server: ServerUnderTest) {
    this.#server = server;
  }

  /** Reads the claim; the next step is decided on this state. */
  async read(): Promise<Identity> {
    return idOf(await this.#server.request(get(`${CLAIMS}/data`)));
  }

  async step(name: string, request: HttpRequest, view: (answer: ServerAnswer) => Json): Promise<ServerAnswer> {
    const answer = await this.#server.request(request);
    this.seen.push({ name, seen: view(answer) });
    if (textAt(answer.body, "metadata", "name") === "data") this.#claim = answer;
    return answer;
  }

  async see(name: string, path: string, count: number): Promise<void> {
    const events = await this.#server.watch(path, count);
    this.seen.push({ name, seen: events.map(eventView) });
  }

  /** Whether a write changed nothing: the claim has the same version as before. */
  readonly isSame = (answer: ServerAnswer): Json => [
    answer.status,
    textAt(answer.body, "metadata", "resourceVersion") === textAt(this.#claim?.body, "metadata", "resourceVersion"),
  ];
}
