/** A key of etcd and when it was written last. */
export interface StoredKey {
  readonly key: string;
  /** Of the write, decimal. */
  readonly revision: string;
}

/** A key with what is stored there. */
export interface StoredEntry extends StoredKey {
  /** Base64. */
  readonly value: string;
  /** etcd removes it by itself after a time: events. */
  readonly isLeased: boolean;
}

/** One step back: a value that is put again, or nothing where there was nothing. */
export interface Undoing {
  readonly key: string;
  readonly value: string | undefined;
}

/** The API server notes here every few seconds that it lives. */
const SIGN_OF_LIFE = "/registry/leases/kube-system/apiserver-";

/** What has to come back, by key: everything that neither goes nor changes by itself. */
export function lasting(entries: readonly StoredEntry[]): ReadonlyMap<string, StoredEntry> {
  const kept = entries.filter(({ key, isLeased }) => !isLeased && !isSignOfLife(key));
  return new Map(kept.map((entry) => [entry.key, entry]));
}

/** The steps that lead from the keys that there are back to the first entries. */
export function undoing(first: ReadonlyMap<string, StoredEntry>, now: readonly StoredKey[]): readonly Undoing[] {
  const revisions = new Map(now.map(({ key, revision }) => [key, revision]));
  const added = now.filter(({ key }) => !first.has(key) && !isSignOfLife(key));
  const changed = [...first.values()].filter(({ key, revision }) => revisions.get(key) !== revision);
  return [...added.map(({ key }) => ({ key, value: undefined })), ...changed.map(({ key, value }) => ({ key, value }))];
}

function isSignOfLife(key: string): boolean {
  return key.startsWith(SIGN_OF_LIFE);
}
