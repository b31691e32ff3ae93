import { expect, it } from "vitest";

import type { Graph } from "../api/workflows";
import { failedOf } from "./failed";

function graphOf(nodes: [string, string, string][], edges: [string, string][] = []): Graph {
  const actual = {
    nodes: nodes.map(([id, type, status]) => ({ id, name: id, type, status, template: null, boundary_id: null })),
    edges: edges.map(([source, target]) => ({ source, target })),
  };
  return { planned: { nodes: [], edges: [] }, actual } as unknown as Graph;
}

it("names what failed by itself and not what is around it", () => {
  const graph = graphOf([["main", "dag", "failed"], ["a", "container", "succeeded"], ["b", "script", "failed"], ["c", "container", "error"]]);

  expect(failedOf(graph)).toEqual(["b", "c"]);
});

it("takes the last attempt, and none of a node that went well in the end", () => {
  const graph = graphOf(
    [
      ["bad", "retry", "failed"], ["bad(0)", "container", "failed"], ["bad(1)", "container", "failed"],
      ["good", "retry", "succeeded"], ["good(0)", "container", "failed"], ["good(1)", "container", "succeeded"],
    ],
    [["bad", "bad(0)"], ["bad", "bad(1)"], ["good", "good(0)"], ["good", "good(1)"]],
  );

  expect(failedOf(graph)).toEqual(["bad(1)"]);
});
