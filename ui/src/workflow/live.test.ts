import { expect, it } from "vitest";

import type { NodeChange } from "../api/live";
import type { Graph } from "../api/workflows";
import { fold } from "./live";

const GRAPH: Graph = {
  planned: { nodes: [], edges: [], entrypoint: null, on_exit: null },
  actual: {
    nodes: [{ id: "a", name: "a", type: "container", status: "pending", template: "t", boundary_id: null }],
    edges: [],
  },
};
const changes = (...list: NodeChange[]) => new Map(list.map((each) => [each.id, each]));

it("takes over new states", () => {
  const { graph, missing } = fold(GRAPH, changes({ id: "a", status: "running" }));

  expect(graph.actual.nodes[0]!.status).toBe("running");
  expect(missing).toBe(false);
});

it("stays the same object where nothing changed", () => {
  expect(fold(GRAPH, changes({ id: "a", status: "pending" })).graph).toBe(GRAPH);
});

it("tells that an unknown node must be asked for", () => {
  expect(fold(GRAPH, changes({ id: "b", status: "pending" })).missing).toBe(true);
});

it("adds a node that comes with its place", () => {
  const change: NodeChange = { id: "b", status: "pending", type: "script", dependencies: ["a"], display_name: "bee" };

  const { graph, missing } = fold(GRAPH, changes(change));

  expect(missing).toBe(false);
  expect(graph.actual.nodes[1]).toMatchObject({ id: "b", name: "bee", type: "script" });
  expect(graph.actual.edges).toEqual([{ source: "a", target: "b" }]);
});
