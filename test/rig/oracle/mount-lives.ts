import type { MarkEvent, MountPlace } from "./kernel-structs.ts";
import type { LifeEvent, Span, Stamp } from "./record.ts";

/** What a look at the namespace showed. */
export interface Look {
  /** Read before the mounts were listed. */
  readonly began: Stamp;
  /** Read after it. */
  readonly ended: Stamp;
  readonly mounts: readonly bigint[];
}

interface Life {
  readonly place: MountPlace;
  /** The begin of the last list that showed it. */
  readonly seen: Stamp;
}

/**
 * Follows the lives of mounts. A mount was there when a list that shows it began, and was not when a list that lacks it ended or
 * when its event was read: the begin and the end of a life are the spans between. The first list shows what was there before.
 */
export class MountLives {
  readonly #describe: (mount: bigint) => MountPlace | undefined;
  readonly #lives = new Map<bigint, Life>();
  /** Mounts whose end is told; identifiers are never used again. */
  readonly #ended = new Set<bigint>();
  #last: Stamp | undefined;

  constructor(describe: (mount: bigint) => MountPlace | undefined) {
    this.#describe = describe;
  }

  /** What events of the kernel tell, which were read by then. */
  onEvents(events: readonly MarkEvent[], by: Stamp): readonly LifeEvent[] {
    return events.flatMap(({ mount, isAttached, isDetached }) => [
      ...(isDetached ? this.#end(mount, by) : []),
      ...(isAttached ? this.#begin(mount, { after: this.#last ?? by, by }, isDetached) : []),
    ]);
  }

  /** What a list of all mounts tells. */
  onLook({ began, ended, mounts }: Look): readonly LifeEvent[] {
    const span = { after: this.#last ?? began, by: ended };
    const isFirst = this.#last === undefined;
    const found: LifeEvent[] = [];
    const present = new Set(mounts);
    for (const mount of this.#lives.keys()) if (!present.has(mount)) found.push(...this.#end(mount, ended));
    for (const mount of mounts) {
      found.push(...this.#begin(mount, span, false).map((one) => (isFirst ? asPresent(one, ended) : one)));
      const life = this.#lives.get(mount);
      if (life !== undefined) this.#lives.set(mount, { ...life, seen: began });
    }
    this.#last = began;
    return found;
  }

  #begin(mount: bigint, span: Span, isMove: boolean): readonly LifeEvent[] {
    if (this.#lives.has(mount) || (this.#ended.has(mount) && !isMove)) return [];
    this.#ended.delete(mount);
    const place = this.#describe(mount);
    if (place === undefined) {
      // It is gone again; nobody can say any more where it was.
      this.#ended.add(mount);
      return [{ kind: "missed", mount: String(mount), ...span }];
    }
    this.#lives.set(mount, { place, seen: span.after });
    return [{ kind: "attached", mount: String(mount), ...place, ...span }];
  }

  #end(mount: bigint, by: Stamp): readonly LifeEvent[] {
    const life = this.#lives.get(mount);
    if (life === undefined) return [];
    this.#lives.delete(mount);
    this.#ended.add(mount);
    return [{ kind: "detached", mount: String(mount), ...life.place, after: life.seen, by }];
  }
}

function asPresent(event: LifeEvent, at: Stamp): LifeEvent {
  return event.kind === "attached" ? { ...event, kind: "present", after: at, by: at } : event;
}
