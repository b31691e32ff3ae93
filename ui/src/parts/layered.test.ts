import { expect, it } from "vitest";

import { layered, type Arc, type Box } from "./layered";

const box = (id: string): Box => ({ id, width: 100, height: 40 });

it("puts what comes later further along", () => {
  const places = layered([box("d"), box("a"), box("b"), box("c")], [
    { source: "a", target: "b" },
    { source: "a", target: "c" },
    { source: "b", target: "d" },
    { source: "c", target: "d" },
  ], "RIGHT");

  expect(places.get("a")!.x).toBeLessThan(places.get("b")!.x);
  expect(places.get("b")!.x).toBe(places.get("c")!.x);
  expect(places.get("d")!.x).toBeGreaterThan(places.get("c")!.x);
  expect(places.get("b")!.y).not.toBe(places.get("c")!.y);
});

it("survives a circle and edges to nowhere", () => {
  const places = layered([box("a"), box("b")], [
    { source: "a", target: "b" },
    { source: "b", target: "a" },
    { source: "a", target: "gone" },
  ], "DOWN");

  expect(places.size).toBe(2);
});

it("places ten thousand boxes without overlap", () => {
  const boxes = Array.from({ length: 10_000 }, (_, index) => box(`n${index}`));
  const arcs: Arc[] = boxes.slice(1).map((each, index) => ({ source: `n${Math.floor(index / 3)}`, target: each.id }));

  const places = layered(boxes, arcs, "DOWN");

  const taken = new Set([...places.values()].map(({ x, y }) => `${x},${y}`));
  expect(taken.size).toBe(10_000);
  const xs = [...places.values()].map(({ x }) => x);
  const ys = [...places.values()].map(({ y }) => y);
  const shape = (Math.max(...xs) - Math.min(...xs)) / (Math.max(...ys) - Math.min(...ys));
  expect(shape).toBeGreaterThan(0.5);
  expect(shape).toBeLessThan(5);
});
