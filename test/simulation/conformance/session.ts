import type { HttpRequest } from "../../../common/kube/transport.ts";
import { textAt } from "../engine/api/json.ts";
import type { Json } from "../engine/api/objects.ts";
import type { Asker, Said } from "./asker.ts";
import { CLAIMS, get, type Identity, idOf } from "./requests.ts";
import { eventView } from "./views.ts";

/** The compared result of one step: everything that Mooring reads, with names in place of generated values. */
export interface Seen {
  readonly name: string;
  readonly seen: Json;
}

/** A server under test, and the results of its steps. */
export class Session {
  readonly seen: Seen[] = [];
  readonly #asker: Asker;
  #claim: Said | undefined;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Reads the claim; the next step is decided on this state. */
  async read(): Promise<Identity> {
    return idOf(await this.#asker.ask(get(`${CLAIMS}/data`)));
  }

  async step(name: string, request: HttpRequest, view: (said: Said) => Json): Promise<Said> {
    const said = await this.#asker.ask(request);
    this.seen.push({ name, seen: view(said) });
    if (textAt(said.body, "metadata", "name") === "data") this.#claim = said;
    return said;
  }

  async see(name: string, path: string, count: number): Promise<void> {
    const events = await this.#asker.watch(path, count);
    this.seen.push({ name, seen: events.map(eventView) });
  }

  /** Whether a write changed nothing: the claim has the same version as before. */
  readonly isSame = (said: Said): Json => [
    said.status,
    textAt(said.body, "metadata", "resourceVersion") === textAt(this.#claim?.body, "metadata", "resourceVersion"),
  ];
}
