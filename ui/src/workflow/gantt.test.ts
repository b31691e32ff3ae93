import { expect, it } from "vitest";

import type { Bar, Graph } from "../api/workflows";
import { chartOf, criticalPath, ticks } from "./gantt";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const bar = (id: string, queued: number, start: number, end: number, type = "container"): Bar => ({
  id,
  name: id,
  type,
  status: "succeeded",
  queued_at: at(queued),
  start_time: at(start),
  end_time: at(end),
  duration: end - start,
});
const graph = (...pairs: string[]): Graph => ({
  planned: { nodes: [], edges: [], entrypoint: null, on_exit: null },
  actual: {
    nodes: [],
    edges: pairs.map((pair) => {
      const [source, target] = pair.split(">") as [string, string];
      return { source, target };
    }),
  },
});
const BARS = [bar("root", 0, 0, 12, "dag"), bar("a", 0, 1, 3), bar("b", 3, 4, 9), bar("c", 3, 3, 5), bar("d", 9, 10, 12)];
const GRAPH = graph("root>a", "a>b", "a>c", "b>d", "c>d");

it("marks the tasks that made the run as long as it was", () => {
  expect([...criticalPath(BARS, GRAPH, 0)].sort()).toEqual(["a", "b", "d"]);
});

it("goes through nodes that only hold others", () => {
  const bars = [bar("a", 0, 0, 3), bar("g", 3, 3, 5, "step-group"), bar("b", 3, 3, 5)];

  expect([...criticalPath(bars, graph("a>g", "g>b"), 0)].sort()).toEqual(["a", "b"]);
});

it("leaves out what only holds others, and counts waiting apart from running", () => {
  const chart = chartOf(BARS, GRAPH, 0, false);

  expect(chart.rows.map((row) => row.id)).toEqual(["a", "b", "c", "d"]);
  expect(chart.waited).toBe(3);
  expect(chart.ran).toBe(11);
  expect(chart.to - chart.from).toBe(12_000);
});

it("lets what runs reach up to now, and what waits only wait", () => {
  const bars: Bar[] = [
    { ...bar("r", 0, 1, 0), end_time: null, status: "running" },
    { ...bar("w", 0, 0, 0), end_time: null, status: "pending" },
  ];

  const chart = chartOf(bars, undefined, Date.parse(at(20)), false);

  expect(chart.ran).toBe(19);
  expect(chart.rows.find((row) => row.id === "w")).toMatchObject({ start: null });
  expect(chart.waited).toBe(21);
});

it("puts marks at round numbers", () => {
  expect(ticks(12, 6)).toEqual([0, 2, 4, 6, 8, 10, 12]);
  expect(ticks(0.5, 5)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5]);
});
