const SECOND_MS = 1_000;
const MINUTES_PER_HOUR = 60;
const HOURS_PER_DAY = 24;
const DAYS_PER_YEAR = 365;

/** A duration as kubectl prints ages (apimachinery's `HumanDuration`): at most two units, the second only for small values of the first. */
export function formatAge(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / SECOND_MS);
  if (seconds < 2 * 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return units([minutes, "m"], [seconds % 60, "s"]);
  if (minutes < 3 * MINUTES_PER_HOUR) return `${minutes}m`;
  const hours = Math.floor(minutes / MINUTES_PER_HOUR);
  if (hours < 8) return units([hours, "h"], [minutes % MINUTES_PER_HOUR, "m"]);
  if (hours < 2 * HOURS_PER_DAY) return `${hours}h`;
  const days = Math.floor(hours / HOURS_PER_DAY);
  if (days < 8) return units([days, "d"], [hours % HOURS_PER_DAY, "h"]);
  if (days < 2 * DAYS_PER_YEAR) return `${days}d`;
  const years = Math.floor(days / DAYS_PER_YEAR);
  return years < 8 ? units([years, "y"], [days % DAYS_PER_YEAR, "d"]) : `${years}y`;
}

type Amount = readonly [count: number, unit: string];

function units(large: Amount, small: Amount): string {
  return small[0] === 0 ? large.join("") : [...large, ...small].join("");
}

/** How precisely to print a duration: below ten seconds milliseconds matter to a reader who compares logs; above, they do not. */
export function formatUncertainty(ms: number): string {
  if (ms < SECOND_MS) return `${Math.ceil(ms)}ms`;
  return ms < 10 * SECOND_MS
    ? `${(Math.ceil(ms / 100) / 10).toFixed(1)}s`
    : formatAge(Math.ceil(ms / SECOND_MS) * 1000);
}
