/**
 * When a process may die at a call of a port: `before` it took effect; `sent`, for what goes over the network: it will take effect, or
 * is lost; `after` it took effect and before the process learnt of it.
 */
export type Phase = "before" | "sent" | "after";

/** A process that comes by a place where it may die. */
export interface SiteVisit {
  readonly process: string;
  /** The call, such as `journal store`, `mount table read`, `apply claim status`, `put report`. */
  readonly site: string;
  readonly phase: Phase;
}

/** How often a place was come by, and how often a process died there. */
export interface SiteFigure {
  readonly visits: number;
  readonly crashes: number;
}

/** Counts over as many worlds as it is given to. Keys are `site/phase`. */
export class CrashSites {
  readonly #figures = new Map<string, { visits: number; crashes: number }>();

  visit(site: string, phase: Phase): void {
    this.#of(site, phase).visits += 1;
  }

  crash(site: string, phase: Phase): void {
    this.#of(site, phase).crashes += 1;
  }

  figures(): ReadonlyMap<string, SiteFigure> {
    return this.#figures;
  }

  #of(site: string, phase: Phase): { visits: number; crashes: number } {
    const key = `${site}/${phase}`;
    const known = this.#figures.get(key) ?? { visits: 0, crashes: 0 };
    this.#figures.set(key, known);
    return known;
  }
}
