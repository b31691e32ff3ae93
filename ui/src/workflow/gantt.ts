/** The Gantt chart's arithmetic: which rows, where on the axis, and the critical path. Pure. */
import type { Bar, Graph } from "../api/workflows";

const STRUCTURE = new Set(["steps", "dag", "step-group", "task-group", "retry"]);

/** A row of the chart; instants in milliseconds. */
export interface Row {
  id: string;
  name: string;
  type: string;
  status: string;
  queued: number | null;
  start: number | null;
  end: number | null;
  critical: boolean;
}

export interface Chart {
  rows: Row[];
  from: number;
  to: number;
  /** Seconds that tasks waited for their turn, and that they ran. */
  waited: number;
  ran: number;
}

/** Tell whether a node only holds others. */
export function isStructure(type: string): boolean {
  return STRUCTURE.has(type);
}

/** Make the chart. `all` keeps nodes that only hold others. */
export function chartOf(bars: readonly Bar[], graph: Graph | undefined, now: number, all: boolean): Chart {
  const critical = graph ? criticalPath(bars, graph, now) : new Set<string>();
  const rows = bars
    .filter((bar) => (all || !isStructure(bar.type)) && (bar.start_time || bar.queued_at))
    .map((bar) => rowOf(bar, critical))
    .sort((a, b) => (a.queued ?? a.start ?? 0) - (b.queued ?? b.start ?? 0));
  const starts = rows.map((row) => Math.min(row.queued ?? Infinity, row.start ?? Infinity));
  const from = starts.reduce((least, each) => Math.min(least, each), Infinity);
  const to = rows.reduce((most, row) => Math.max(most, row.end ?? now), -Infinity);
  const tasks = rows.filter((row) => !isStructure(row.type));
  return {
    rows,
    from: Number.isFinite(from) ? from : now,
    to: Number.isFinite(to) ? Math.max(to, from + 100) : now,
    waited: sum(tasks, (row) => (row.queued === null ? 0 : (row.start ?? now) - row.queued)),
    ran: sum(tasks, (row) => (row.start === null ? 0 : (row.end ?? now) - row.start)),
  };
}

function rowOf(bar: Bar, critical: ReadonlySet<string>): Row {
  const pending = bar.status === "pending";
  return {
    id: bar.id,
    name: bar.name,
    type: bar.type,
    status: bar.status,
    queued: bar.queued_at ? Date.parse(bar.queued_at) : null,
    // The server gives what has only been made the instant at which it was made.
    start: bar.start_time && !pending ? Date.parse(bar.start_time) : null,
    end: bar.end_time ? Date.parse(bar.end_time) : null,
    critical: critical.has(bar.id),
  };
}

function sum(rows: readonly Row[], value: (row: Row) => number): number {
  return rows.reduce((total, row) => total + Math.max(0, value(row)), 0) / 1000;
}

/** Give the ids of the tasks that made the run as long as it was: back from the last, each time to
 * the one that ended last of those before it. */
export function criticalPath(bars: readonly Bar[], graph: Graph, now: number): Set<string> {
  const known = new Map(bars.map((bar) => [bar.id, bar]));
  const before = new Map<string, string[]>();
  for (const { source, target } of graph.actual.edges) {
    const list = before.get(target);
    if (list) list.push(source);
    else before.set(target, [source]);
  }
  const end = (bar: Bar) => (bar.end_time ? Date.parse(bar.end_time) : now);
  const tasks = bars.filter((bar) => !isStructure(bar.type) && bar.start_time);
  let current = tasks.reduce<Bar | undefined>((last, bar) => (!last || end(bar) > end(last) ? bar : last), undefined);
  const path = new Set<string>();
  while (current && !path.has(current.id)) {
    path.add(current.id);
    current = latestBefore(current, known, before, end);
  }
  return path;
}

function latestBefore(
  bar: Bar,
  known: ReadonlyMap<string, Bar>,
  before: ReadonlyMap<string, string[]>,
  end: (bar: Bar) => number,
): Bar | undefined {
  const seen = new Set<string>();
  const left = [...(before.get(bar.id) ?? [])];
  let latest: Bar | undefined;
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const above = known.get(id);
    if (!above || isStructure(above.type)) left.push(...(before.get(id) ?? []));
    else if (!latest || end(above) > end(latest)) latest = above;
  }
  return latest;
}

/** Give marks for an axis: about `count`, at round numbers of seconds from the start. */
export function ticks(seconds: number, count: number): number[] {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];
  const wanted = seconds / Math.max(1, count);
  const step = steps.find((each) => each >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
  const found: number[] = [];
  for (let at = 0; at <= seconds + 1e-9; at += step) found.push(Math.round(at * 10) / 10);
  return found;
}
