/** Instants, durations and amounts as people read them. Pure but for the zone that was chosen. */
const ZONE_KEY = "tiphys.zone";
export const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

type Listener = () => void;
const listeners = new Set<Listener>();
let zone = kept();

function kept(): string {
  const found = typeof localStorage === "undefined" ? null : localStorage.getItem(ZONE_KEY);
  return found && isZone(found) ? found : BROWSER_ZONE;
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Give the zone in which times are shown. */
export function timeZone(): string {
  return zone;
}

/** Show times in another zone from now on. */
export function setTimeZone(name: string): void {
  if (!isZone(name)) return;
  zone = name;
  localStorage.setItem(ZONE_KEY, name);
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function onTimeZone(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${name} ${zone}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("sv-SE", { ...options, timeZone: zone, hourCycle: "h23" });
    formats.set(key, found);
  }
  return found;
}

const DATE = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;

/** Write an instant: 2026-11-15 13:04:05. */
export function instant(at: string | number | null | undefined): string {
  if (at === null || at === undefined) return "–";
  return format("instant", { ...DATE, ...TIME }).format(new Date(at));
}

/** Write the time of day: 13:04:05. */
export function clock(at: string | number): string {
  return format("clock", TIME).format(new Date(at));
}

/** Write the time of day with milliseconds, for logs. */
export function exactClock(at: string): string {
  const milliseconds = String(new Date(at).getMilliseconds()).padStart(3, "0");
  return `${clock(at)}.${milliseconds}`;
}

/** Write a number of seconds: 38ms, 0.4s, 12s, 3m 4s, 2h 5m, 3d 4h. */
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const value = Math.abs(seconds);
  const milliseconds = Math.round(value * 1000);
  if (milliseconds === 0) return "0s";
  const sign = seconds < 0 ? "-" : "";
  if (milliseconds < 100) return `${sign}${milliseconds}ms`;
  if (value < 9.95) return `${sign}${value.toFixed(1)}s`;
  const whole = Math.round(value);
  if (whole < 60) return `${sign}${whole}s`;
  if (whole < 3600) return sign + two(whole, 60, "m", "s");
  if (whole < 86_400) return sign + two(Math.floor(whole / 60), 60, "h", "m");
  return sign + two(Math.floor(whole / 3600), 24, "d", "h");
}

function two(value: number, base: number, large: string, small: string): string {
  const rest = value % base;
  return `${Math.floor(value / base)}${large}${rest ? ` ${rest}${small}` : ""}`;
}

/** Write how long ago, or in how long, something is. */
export function ago(at: string | number | null | undefined, now: number): string {
  if (at === null || at === undefined) return "–";
  const seconds = (now - new Date(at).getTime()) / 1000;
  if (Math.abs(seconds) < 3) return "now";
  const text = span(Math.max(3, Math.round(Math.abs(seconds)))).replace(/\.\ds/, "s").split(" ")[0];
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** Give the seconds between two instants; up to `now` where the second is not there yet. */
export function between(
  start: string | null | undefined,
  end: string | null | undefined,
  now: number,
): number | null {
  if (!start) return null;
  return Math.max(0, ((end ? Date.parse(end) : now) - Date.parse(start)) / 1000);
}

/** Write a number of bytes: 512 B, 1.5 MiB. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
