import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { type FakeAnswer, json } from "../../../fakes/transport.ts";

interface Held {
  uid: string;
  version: number;
  annotations: Record<string, string>;
  data: Record<string, string>;
  type: unknown;
}

interface Patch {
  readonly metadata: {
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  readonly data?: Readonly<Record<string, string | null>>;
  readonly type?: unknown;
}

/** The few objects that certificates are kept in, with just so much of an API server as their writes need. */
export class FakeObjects {
  readonly held = new Map<string, Held>();
  /** Answers instead, for as long as it answers anything. */
  interfere: ((request: HttpRequest) => FakeAnswer | undefined) | undefined;
  writes = 0;
  #made = 0;

  readonly serve = (request: HttpRequest): FakeAnswer => {
    const other = this.interfere?.(request);
    if (other !== undefined) return other;
    const path = request.path.split("?")[0] ?? "";
    const found = this.held.get(path);
    if (request.method === "GET") return found === undefined ? notFound(path) : shown(found);
    this.writes += 1;
    const patch: Patch = JSON.parse(request.body ?? "{}");
    if (request.headers["content-type"] === "application/apply-patch+yaml") return this.#create(path, patch);
    if (found === undefined) return notFound(path);
    const { uid, resourceVersion } = patch.metadata;
    if (uid !== found.uid || resourceVersion !== String(found.version)) return conflict("the object has been modified");
    change(found.annotations, patch.metadata.annotations);
    change(found.data, patch.data);
    found.version += 1;
    return shown(found);
  };

  /** What an object holds, decoded. */
  texts(path: string): Readonly<Record<string, string>> {
    const isSecret = path.includes("/secrets/");
    const entries = Object.entries(this.held.get(path)?.data ?? {});
    const decode = (text: string): string => (isSecret ? Buffer.from(text, "base64").toString() : text);
    return Object.fromEntries(entries.map(([key, text]) => [key, decode(text)]));
  }

  #create(path: string, { metadata, data, type }: Patch): FakeAnswer {
    if (this.held.has(path)) return conflict("Apply failed with 1 conflict", [{ reason: "FieldManagerConflict" }]);
    this.#made += 1;
    const made: Held = { uid: `uid-${this.#made}`, version: 1, annotations: {}, data: {}, type };
    change(made.annotations, metadata.annotations);
    change(made.data, data);
    this.held.set(path, made);
    return shown(made);
  }
}

function change(held: Record<string, string>, by: Readonly<Record<string, string | null>> = {}): void {
  for (const [key, value] of Object.entries(by)) {
    if (value === null) delete held[key];
    else held[key] = value;
  }
}

function shown({ uid, version, annotations, data, type }: Held): FakeAnswer {
  return json({ metadata: { uid, resourceVersion: String(version), annotations }, data, type });
}

function notFound(path: string): FakeAnswer {
  return json(
    { kind: "Status", reason: "NotFound", message: "not found", details: { name: path.split("/").at(-1) } },
    404,
  );
}

function conflict(message: string, causes: readonly object[] = []): FakeAnswer {
  return json({ kind: "Status", reason: "Conflict", message, details: { name: "x", causes } }, 409);
}
