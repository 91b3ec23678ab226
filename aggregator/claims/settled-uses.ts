import { type Sighting, sightingOf } from "../core/references.ts";

/** So many uses are remembered after their unmount record was settled: the watch of pods may still be behind. */
const MOST = 20_000;

/** What unmount records that are settled told of uses, by claim and pod, oldest first. */
export class SettledUses {
  readonly #sightings = new Map<string, Sighting>();

  note(claimUid: string, { id, podUid }: { readonly id: string; readonly podUid: string }): void {
    this.#sightings.set(`${claimUid}/${podUid}`, sightingOf(id, podUid));
    if (this.#sightings.size <= MOST) return;
    // Many at once: to find the oldest, a map walks over all that were deleted before it.
    for (const key of [...this.#sightings.keys()].slice(0, MOST / 20)) this.#sightings.delete(key);
  }

  of(claimUid: string, podUid: string): readonly Sighting[] {
    const sighting = this.#sightings.get(`${claimUid}/${podUid}`);
    return sighting === undefined ? [] : [sighting];
  }
}
