import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { type FakeAnswer, json } from "../../../fakes/transport.ts";

type Texts = Record<string, string>;
type Changes = Readonly<Record<string, string | null>>;

interface StoredObject {
  readonly uid: string;
  readonly data: Texts;
  readonly type: unknown;
  version: number;
}

interface Patch {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string };
  readonly data?: Changes;
  readonly type?: unknown;
}

/** The few objects that certificates are kept in, with just so much of an API server as their writes need. */
export class FakeObjects {
  readonly stored = new Map<string, StoredObject>();
  /** Answers instead, for as long as it answers anything. */
  interfere: ((request: HttpRequest) => FakeAnswer | undefined) | undefined;
  writes = 0;

  readonly serve = (request: HttpRequest): FakeAnswer => {
    const other = this.interfere?.(request);
    if (other !== undefined) return other;
    const path = request.path.split("?")[0] ?? "";
    const refusal = (code: number, reason: string, causes: readonly object[] = []): FakeAnswer =>
      json({ kind: "Status", reason, message: reason, details: { name: path.split("/").at(-1), causes } }, code);
    const found = this.stored.get(path);
    if (request.method === "GET") return found === undefined ? refusal(404, "NotFound") : shown(found);
    this.writes += 1;
    const patch: Patch = JSON.parse(request.body ?? "{}");
    const { uid, resourceVersion } = patch.metadata;
    const creates = request.headers["content-type"] === "application/apply-patch+yaml";
    if (creates && found !== undefined) return refusal(409, "Conflict", [{ reason: "FieldManagerConflict" }]);
    const stored = creates ? this.#create(path, patch.type) : found;
    if (stored === undefined) return refusal(404, "NotFound");
    if (!creates && (uid !== stored.uid || resourceVersion !== String(stored.version))) return refusal(409, "Conflict");
    change(stored.data, patch.data);
    stored.version += 1;
    return shown(stored);
  };

  /** The data of an object, decoded. */
  texts(path: string): Readonly<Texts> {
    const encoding = path.includes("/secrets/") ? "base64" : "utf8";
    const entries = Object.entries(this.stored.get(path)?.data ?? {});
    return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, encoding).toString()]));
  }

  #create(path: string, type: unknown): StoredObject {
    const made = { uid: `uid-${this.writes}`, version: 0, data: {}, type };
    this.stored.set(path, made);
    return made;
  }
}

function change(stored: Texts, by: Changes = {}): void {
  for (const [key, value] of Object.entries(by)) {
    if (value === null) delete stored[key];
    else stored[key] = value;
  }
}

function shown({ uid, version, data, type }: StoredObject): FakeAnswer {
  return json({ metadata: { uid, resourceVersion: String(version) }, data, type });
}
