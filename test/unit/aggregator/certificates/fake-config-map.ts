import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { type FakeAnswer, json } from "../../../fakes/transport.ts";

interface Patch {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string | null>>;
}

/** The one ConfigMap with certificates, with just so much of an API server as its writes need. */
export class FakeConfigMap {
  data: Record<string, string> | undefined;
  /** Answers instead, for as long as it answers anything. */
  interfere: ((request: HttpRequest) => FakeAnswer | undefined) | undefined;
  writes = 0;
  #version = 0;

  readonly serve = (request: HttpRequest): FakeAnswer => {
    const other = this.interfere?.(request);
    if (other !== undefined) return other;
    const name = request.path.split("?")[0]?.split("/").at(-1);
    const refusal = (code: number, reason: string): FakeAnswer =>
      json({ kind: "Status", reason, message: reason, details: { name } }, code);
    if (request.method === "GET") return this.data === undefined ? refusal(404, "NotFound") : this.#shown();
    const { metadata, data = {} }: Patch = JSON.parse(request.body ?? "{}");
    if (metadata.uid !== undefined && this.data === undefined) return refusal(404, "NotFound");
    if (metadata.uid !== undefined && metadata.resourceVersion !== String(this.#version))
      return refusal(409, "Conflict");
    this.writes += 1;
    const entries = Object.entries({ ...this.data, ...data });
    this.change(Object.fromEntries(entries.flatMap(([key, text]) => (text === null ? [] : [[key, text]]))));
    return this.#shown();
  };

  change(data: Record<string, string> | undefined): void {
    this.data = data;
    this.#version += 1;
  }

  #shown(): FakeAnswer {
    return json({ metadata: { uid: "uid-1", resourceVersion: String(this.#version) }, data: this.data });
  }
}
