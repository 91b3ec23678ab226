import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type InferOutput, intersect, object, safeParse, string } from "valibot";
import type { Random } from "../../../common/runtime/random.ts";
import { codeOf, HarnessError } from "../process/errors.ts";
import { identify, judge, ProcessIdentity } from "../process/identity.ts";
import type { Owner } from "../process/owner.ts";

const POLL_MS = 200;
const REMIND_MS = 15_000;

/** Who holds a lock and what for. */
const LockHolder = intersect([ProcessIdentity, object({ what: string() })]);
export type LockHolder = Readonly<InferOutput<typeof LockHolder>>;

/** A lock that processes of one machine share: a file that names its holder. */
export interface Lock {
  readonly path: string;
  /** What it is held for, for those who wait: `gets kube-apiserver`. */
  readonly what: string;
  readonly random: Random;
}

/**
 * Does `work` while holding the lock; waits for a live holder and says so, takes the lock over from a dead one. In a race
 * of three for a dead holder's lock two can get it: what is done under it must only be wasteful to do twice, never wrong.
 */
export async function withLock<T>(owner: Owner, lock: Lock, work: () => Promise<T>): Promise<T> {
  let isHeld = false;
  const release = (): void => {
    if (isHeld) rmSync(lock.path, { force: true });
    isHeld = false;
  };
  // A run that is interrupted in the middle of the work ends without coming back here.
  owner.defer(release);
  await acquire(owner, lock, () => {
    isHeld = true;
  });
  try {
    return await work();
  } finally {
    release();
  }
}

async function acquire(owner: Owner, lock: Lock, onAcquired: () => void): Promise<void> {
  const { clock, signal } = owner;
  mkdirSync(dirname(lock.path), { recursive: true });
  let saidAt = Number.NEGATIVE_INFINITY;
  while (!tryAcquire(owner, lock)) {
    const holder = holderOf(lock.path);
    if (holder === undefined || judge(owner.table, holder) === "dead") {
      takeAway(owner, lock);
      continue;
    }
    if (clock.monotonicMs() - saidAt >= REMIND_MS) {
      owner.say(`waiting for process ${holder.pid}, which ${holder.what} (${lock.path})`);
      saidAt = clock.monotonicMs();
    }
    await clock.sleep(POLL_MS, signal);
    if (signal.aborted) throw new HarnessError(`${lock.path} is not waited for: the run is over`);
  }
  onAcquired();
}

/** A link appears at once with its content, so that nobody ever sees a lock without a holder. */
function tryAcquire(owner: Owner, { path, what, random }: Lock): boolean {
  const entry = `${path}.${random.id()}`;
  writeFileSync(entry, JSON.stringify({ ...identify(owner.table, process.pid), what }));
  try {
    linkSync(entry, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(entry, { force: true });
  }
}

/** Removes the lock of a dead holder; if another took it over in this moment, it is put back. */
function takeAway(owner: Owner, { path, random }: Lock): void {
  const away = `${path}.${random.id()}`;
  try {
    renameSync(path, away);
    const holder = holderOf(away);
    if (holder !== undefined && judge(owner.table, holder) !== "dead") linkSync(away, path);
  } catch (error) {
    // Gone already, or taken again in between: the next try tells.
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(away, { force: true });
  }
}

/** The holder that a lock file names; nothing when there is none or it is not legible. */
function holderOf(path: string): LockHolder | undefined {
  try {
    const parsed = safeParse(LockHolder, JSON.parse(readFileSync(path, "utf8")));
    return parsed.success ? parsed.output : undefined;
  } catch {
    // No file, or none that this program wrote: nobody holds it.
    return undefined;
  }
}
