/** The entries of a list that a client asks for: the values of each given parameter. */
export type ListFilter = ReadonlyMap<string, ReadonlySet<string>>;

/** Without problems the filter counts. */
interface ReadFilter {
  readonly filter: ListFilter;
  readonly problems: readonly string[];
}

/** An answer contains at most so much of a wrong name, and so many problems. */
const SHOWN_LENGTH = 80;
const SHOWN_PROBLEMS = 20;
/** Parameters of earlier versions. */
const PAGED: ReadonlySet<string> = new Set(["limit", "continue"]);

/** Reads a query string. An unknown parameter is a problem: without it the answer would contain more than the client wants. */
export function readFilter(allowed: readonly string[], query: Iterable<readonly [string, string]>): ReadFilter {
  const filter = new Map<string, Set<string>>();
  const problems: string[] = [];
  for (const [name, value] of query) {
    if (!allowed.includes(name)) problems.push(unknown(name, allowed));
    else if (value === "") problems.push(`${name}: empty`);
    else filter.set(name, (filter.get(name) ?? new Set()).add(value));
  }
  return { filter, problems: problems.slice(0, SHOWN_PROBLEMS) };
}

function unknown(name: string, allowed: readonly string[]): string {
  const shown = JSON.stringify(name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH)}…` : name);
  const why = PAGED.has(name) ? "; lists are streamed, not paged, as of api.mooring.dev/v2: update the client" : "";
  return `unknown parameter ${shown}; allowed: ${allowed.join(", ")}${why}`;
}

/** True for a value that the client asks for; without the parameter, for every value. */
export function asksFor(filter: ListFilter, name: string, value: string): boolean {
  return filter.get(name)?.has(value) ?? true;
}
