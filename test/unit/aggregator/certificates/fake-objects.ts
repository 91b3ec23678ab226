import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { type FakeAnswer, json } from "../../../fakes/transport.ts";

type Texts = Record<string, string>;
type Changes = Readonly<Record<string, string | null>>;

interface Held {
  readonly uid: string;
  readonly annotations: Texts;
  readonly data: Texts;
  readonly type: unknown;
  version: number;
}

interface Patch {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string; readonly annotations?: Changes };
  readonly data?: Changes;
  readonly type?: unknown;
}

/** The few objects that certificates are kept in, with just so much of an API server as their writes need. */
export class FakeObjects {
  readonly held = new Map<string, Held>();
  /** Answers instead, for as long as it answers anything. */
  interfere: ((request: HttpRequest) => FakeAnswer | undefined) | undefined;
  writes = 0;

  readonly serve = (request: HttpRequest): FakeAnswer => {
    const other = this.interfere?.(request);
    if (other !== undefined) return other;
    const path = request.path.split("?")[0] ?? "";
    const refusal = (code: number, reason: string, causes: readonly object[] = []): FakeAnswer =>
      json({ kind: "Status", reason, message: reason, details: { name: path.split("/").at(-1), causes } }, code);
    const found = this.held.get(path);
    if (request.method === "GET") return found === undefined ? refusal(404, "NotFound") : shown(found);
    this.writes += 1;
    const patch: Patch = JSON.parse(request.body ?? "{}");
    const { uid, resourceVersion, annotations } = patch.metadata;
    const creates = request.headers["content-type"] === "application/apply-patch+yaml";
    if (creates && found !== undefined) return refusal(409, "Conflict", [{ reason: "FieldManagerConflict" }]);
    const held = creates ? this.#create(path, patch.type) : found;
    if (held === undefined) return refusal(404, "NotFound");
    if (!creates && (uid !== held.uid || resourceVersion !== String(held.version))) return refusal(409, "Conflict");
    change(held.annotations, annotations);
    change(held.data, patch.data);
    held.version += 1;
    return shown(held);
  };

  /** What an object holds, decoded. */
  texts(path: string): Readonly<Texts> {
    const encoding = path.includes("/secrets/") ? "base64" : "utf8";
    const entries = Object.entries(this.held.get(path)?.data ?? {});
    return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, encoding).toString()]));
  }

  #create(path: string, type: unknown): Held {
    const made = { uid: `uid-${this.writes}`, version: 0, annotations: {}, data: {}, type };
    this.held.set(path, made);
    return made;
  }
}

function change(held: Texts, by: Changes = {}): void {
  for (const [key, value] of Object.entries(by)) {
    if (value === null) delete held[key];
    else held[key] = value;
  }
}

function shown({ uid, version, annotations, data, type }: Held): FakeAnswer {
  return json({ metadata: { uid, resourceVersion: String(version), annotations }, data, type });
}
