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

/** Counts over as many worlds as it is given to. */
export class CrashSites {
  readonly #sites = new Map<string, Record<Phase, { visits: number; crashes: number }>>();

  visit(site: string, phase: Phase): void {
    this.#of(site)[phase].visits += 1;
  }

  crash(site: string, phase: Phase): void {
    this.#of(site)[phase].crashes += 1;
  }

  /** By `site/phase`; places that nobody has come by are not there. */
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
