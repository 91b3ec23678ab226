import type { HttpRequest } from "../../../common/kube/transport.ts";
import { textAt } from "../engine/api/json.ts";
import type { Json } from "../engine/api/objects.ts";
import type { Asker, Said } from "./asker.ts";
import { CLAIMS, get, type Identity, idOf } from "./requests.ts";
import { eventView } from "./views.ts";

/** What is compared of one step: whatever Mooring reads, with names in place of what each server makes up. */
export interface Seen {
  readonly name: string;
  readonly seen: Json;
}

/** A server that is asked step by step, and what was seen of its answers. */
export class Session {
  readonly seen: Seen[] = [];
  readonly #asker: Asker;
  #claim: Said | undefined;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** The claim as it is now, for what is decided on it. */
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

  /** Whether a write was none: the claim is in the state in which it was. */
  readonly isSame = (said: Said): Json => [
    said.status,
    textAt(said.body, "metadata", "resourceVersion") === textAt(this.#claim?.body, "metadata", "resourceVersion"),
  ];
}
