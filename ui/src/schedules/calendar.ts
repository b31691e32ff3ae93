/** A month of a schedule: which slots fall on which day, and what became of them. Pure. */
export interface Day {
  /** 2026-11-15 */
  date: string;
  inMonth: boolean;
  slots: number;
  /** How many of the slots ran, by status. */
  runs: Readonly<Record<string, number>>;
}

export interface Run {
  status: string;
  /** The slot it ran for, in milliseconds. */
  slot: number;
}

/** Give the date of an instant in a zone. */
export function dateIn(zone: string): (at: number | string) => string {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" });
  return (at) => format.format(new Date(at));
}

/** Lay a month (2026-11) out in weeks from Monday on. */
export function monthOf(month: string, slots: readonly string[], runs: readonly Run[], zone: string): Day[][] {
  const date = dateIn(zone);
  const counts = new Map<string, number>();
  for (const slot of slots) counts.set(date(slot), (counts.get(date(slot)) ?? 0) + 1);
  const ran = new Map<string, Record<string, number>>();
  for (const { slot, status } of runs) {
    const day = ran.get(date(slot)) ?? {};
    day[status] = (day[status] ?? 0) + 1;
    ran.set(date(slot), day);
  }
  const [year, number] = month.split("-").map(Number) as [number, number];
  const first = new Date(Date.UTC(year, number - 1, 1));
  const lead = (first.getUTCDay() + 6) % 7;
  const length = new Date(Date.UTC(year, number, 0)).getUTCDate();
  const weeks = Math.ceil((lead + length) / 7);
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, weekday) => {
      const day = new Date(Date.UTC(year, number - 1, 1 + week * 7 + weekday - lead)).toISOString().slice(0, 10);
      return { date: day, inMonth: day.startsWith(month), slots: counts.get(day) ?? 0, runs: ran.get(day) ?? {} };
    }),
  );
}

/** Give another month: 2026-12 and 1 make 2027-01. */
export function monthAfter(month: string, step: number): string {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return new Date(Date.UTC(year, number - 1 + step, 1)).toISOString().slice(0, 7);
}

/** Read the slot out of the name of a workflow that a schedule made: `<name>-<seconds>`. */
export function slotOf(workflow: string, schedule: string): number | null {
  if (!workflow.startsWith(`${schedule}-`)) return null;
  const match = /(?:^|-)(\d{9,11})$/.exec(workflow.slice(schedule.length + 1));
  return match ? Number(match[1]) * 1000 : null;
}

/** Give the instant at which a day begins (or, with 1, ends) in a zone. */
export function dayStart(date: string, zone: string, step = 0): string {
  const [year, month, day] = date.split("-").map(Number) as [number, number, number];
  const wanted = Date.UTC(year, month - 1, day + step);
  // The offset of the zone is looked up twice, so that a change of the clock is met.
  let at = wanted;
  for (let round = 0; round < 2; round += 1) at = wanted - offset(at, zone);
  return new Date(at).toISOString();
}

function offset(at: number, zone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}
