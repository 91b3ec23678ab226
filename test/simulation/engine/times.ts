import { formatMicroTime } from "../../../common/runtime/micro-time.ts";

const DAYS = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_MS = 86_400_000;

/** A time as the API server writes it: RFC 3339, truncated to the second. */
export function secondsText(epochMs: number): string {
  return `${formatMicroTime(Math.floor(epochMs)).slice(0, 19)}Z`;
}

/** A time in the format of the `Date` header, truncated to the second. */
export function httpDate(epochMs: number): string {
  const [date = "", time = ""] = secondsText(epochMs).slice(0, -1).split("T");
  const [year, month, day] = date.split("-");
  const weekday = DAYS[Math.floor(epochMs / DAY_MS) % 7];
  return `${weekday}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time} GMT`;
}
