import { describe, expect, it } from "vitest";

import type { Graph } from "../api/workflows";
import { buildView, MAX_COPIES, type View } from "./plan";

type Actual = Graph["actual"]["nodes"][number];

const node = (id: string, more: Partial<Actual> = {}): Actual => ({
  id,
  name: id,
  type: "container",
  status: "succeeded",
  template: "work",
  boundary_id: "root",
  ...more,
});
const root = (type: string): Actual => node("root", { type, template: "main", boundary_id: null, status: "running" });
const arcs = (...pairs: string[]) =>
  pairs.map((pair) => {
    const [source, target] = pair.split(">") as [string, string];
    return { source, target };
  });
const planned = (template: string, ...tasks: string[]) =>
  tasks.map((task) => {
    const [name, calls = "work"] = task.split(":") as [string, string?];
    return { id: `${template}/${name}`, name, template, calls, type: "container", loop: false, when: null };
  });
const PLAIN = { entrypoint: "main", on_exit: null };
const usual = (_: string, open: boolean) => open;
const everything = () => true;
const names = (view: View) => view.units.map((unit) => unit.name).sort();
const edges = (view: View) => view.edges.map(({ source, target }) => `${source}>${target}`).sort();
const unit = (view: View, key: string) => view.units.find((each) => each.key === key)!;

const DIAMOND: Graph = {
  planned: {
    ...PLAIN,
    nodes: planned("main", "a", "b", "c", "d"),
    edges: arcs("main/a>main/b", "main/a>main/c", "main/b>main/d", "main/c>main/d"),
  },
  actual: { nodes: [root("dag"), node("n1", { name: "a" })], edges: arcs("root>n1") },
};

describe("a diamond of which one task has run", () => {
  it("shows the whole plan", () => {
    const view = buildView(DIAMOND, usual);

    expect(names(view)).toEqual(["a", "b", "c", "d"]);
    expect(edges(view)).toEqual(["a>b", "a>c", "b>d", "c>d"]);
    expect(unit(view, "a")).toMatchObject({ kind: "task", status: "succeeded", node: "n1" });
    expect(unit(view, "d")).toMatchObject({ kind: "planned", status: "planned", node: null });
  });

  it("shows the plan before anything has run", () => {
    const view = buildView({ ...DIAMOND, actual: { nodes: [], edges: [] } }, usual);

    expect(names(view)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("a loop", () => {
  const copies = Array.from({ length: 1000 }, (_, index) =>
    node(`c${index}`, { name: `fan(${index}:x)`, status: index === 7 ? "failed" : "succeeded" }),
  );
  const graph: Graph = {
    planned: { ...PLAIN, nodes: planned("main", "fan", "end"), edges: arcs("main/fan>main/end") },
    actual: { nodes: [root("steps"), node("g", { type: "step-group", name: "[0]" }), ...copies], edges: [] },
  };

  it("is one unit that counts its copies", () => {
    const view = buildView(graph, usual);

    expect(names(view)).toEqual(["end", "fan"]);
    expect(unit(view, "fan")).toMatchObject({ kind: "fan", status: "failed", counts: { succeeded: 999, failed: 1 } });
  });

  it("shows some of its copies when open, the failed first", () => {
    const view = buildView(graph, everything);

    const shown = view.units.filter((each) => each.kind === "task");
    expect(shown).toHaveLength(MAX_COPIES);
    expect(shown[0]!.name).toBe("fan(7:x)");
    expect(unit(view, "fan:more").name).toBe("940 more");
    expect(edges(view)).toContain("c7>end");
  });
});

it("hides attempts behind the node that is retried", () => {
  const graph: Graph = {
    planned: { ...PLAIN, nodes: planned("main", "load"), edges: [] },
    actual: {
      nodes: [
        root("steps"),
        node("r", { name: "load", type: "retry", status: "failed" }),
        node("r0", { name: "load(0)", status: "failed" }),
        node("r1", { name: "load(1)", status: "failed" }),
      ],
      edges: arcs("r>r0", "r>r1"),
    },
  };

  const view = buildView(graph, usual);

  expect(view.units).toHaveLength(1);
  expect(unit(view, "load")).toMatchObject({ kind: "task", attempts: 2, type: "container" });
});

it("fills a call of another composite template and goes on after its ends", () => {
  const graph: Graph = {
    planned: {
      ...PLAIN,
      nodes: [...planned("main", "sub:inner", "z"), ...planned("inner", "x", "y")],
      edges: arcs("main/sub>main/z", "inner/x>inner/y"),
    },
    actual: {
      nodes: [
        root("dag"),
        node("s", { name: "sub", type: "dag", template: "inner" }),
        node("x", { boundary_id: "s" }),
      ],
      edges: [],
    },
  };

  expect(edges(buildView(graph, usual))).toEqual(["sub/x>sub/y", "sub/y>z", "sub>sub/x"]);
  expect(edges(buildView(graph, () => false))).toEqual(["sub>z"]);
});

it("puts many tasks with the same template and neighbours together", () => {
  const many = Array.from({ length: 500 }, (_, index) => `t${index}`);
  const graph: Graph = {
    planned: {
      ...PLAIN,
      nodes: planned("main", "first", ...many, "last"),
      edges: many.flatMap((each) => arcs(`main/first>main/${each}`, `main/${each}>main/last`)),
    },
    actual: { nodes: [root("dag"), node("n0", { name: "t0", status: "running" })], edges: [] },
  };

  const view = buildView(graph, usual);

  expect(view.units).toHaveLength(3);
  expect(view.units.find((each) => each.kind === "fan")).toMatchObject({
    status: "running",
    counts: { running: 1, planned: 499 },
  });
});

it("follows what ran where there is no plan", () => {
  const graph: Graph = {
    planned: { ...PLAIN, nodes: [], edges: [] },
    actual: {
      nodes: [
        root("steps"),
        node("g0", { type: "step-group", name: "[0]" }),
        node("a"),
        node("g1", { type: "step-group", name: "[1]" }),
        node("b"),
        node("bye", { name: "root.onExit", boundary_id: null }),
      ],
      edges: arcs("root>g0", "g0>a", "a>g1", "g1>b"),
    },
  };

  expect(edges(buildView(graph, usual))).toEqual(["a>b", "b>bye"]);
});

it("ends with a template that calls itself", () => {
  const graph: Graph = {
    planned: { ...PLAIN, nodes: planned("main", "again:main"), edges: [] },
    actual: { nodes: [root("dag")], edges: [] },
  };

  expect(buildView(graph, everything).units.length).toBeLessThan(30);
});
