/**
 * When a process may die at a call of a port: `before` the call takes effect; `sent`, for network calls: the request is on its way and may
 * arrive or not; `after` it took effect and before the process gets the answer.
 */
export type Phase = "before" | "sent" | "after";

/** A process reaches a crash site. */
export interface SiteVisit {
  readonly process: string;
  /** The call, such as `journal store`, `mount table read`, `apply claim status`, `put report`. */
  readonly site: string;
  readonly phase: Phase;
}

/** How often processes reached a site, and how often they died there. */
export interface SiteFigure {
  readonly visits: number;
  readonly crashes: number;
}

/** Counts visits over all worlds that share it. */
export class CrashSites {
  readonly #sites = new Map<string, Record<Phase, { visits: number; crashes: number }>>();

  visit(site: string, phase: Phase): void {
    this.#of(site)[phase].visits += 1;
  }

  crash(site: string, phase: Phase): void {
    this.#of(site)[phase].crashes += 1;
  }

  /** By `site/phase`; without sites that no process reached. */
  figures(): ReadonlyMap<string, SiteFigure> {
    const figures = new Map<string, SiteFigure>();
    for (const [site, phases] of this.#sites)
      for (const phase of PHASES) if (phases[phase].visits > 0) figures.set(`${site}/${phase}`, phases[phase]);
    return figures;
  }

  #of(site: string): Record<Phase, { visits: number; crashes: number }> {
    const known = this.#sites.get(site);
    if (known !== undefined) return known;
    const none = () => ({ visits: 0, crashes: 0 });
    const fresh = { before: none(), sent: none(), after: none() };
    this.#sites.set(site, fresh);
    return fresh;
  }
}

const PHASES = ["before", "sent", "after"] as const;
