/** The nodes of a run and its plan, indexed for drawing. Pure. */
import type { Graph } from "../api/workflows";

export type RunNode = Graph["actual"]["nodes"][number];

export type PlannedTask = Pick<Graph["planned"]["nodes"][number], "name" | "calls" | "type" | "loop" | "when">;

interface Plan {
  tasks: PlannedTask[];
  /** By names of tasks. */
  arcs: { source: string; target: string }[];
}

export interface Index {
  byId: ReadonlyMap<string, RunNode>;
  parents: ReadonlyMap<string, string[]>;
  /** Nodes that are in no other: the run itself, then exit handlers. */
  roots: RunNode[];
  /** What can be shown inside of a composite node: neither groups of steps nor attempts. */
  inside: ReadonlyMap<string, RunNode[]>;
  plan: ReadonlyMap<string, Plan>;
  attempts: (node: RunNode) => RunNode[];
  /** The latest attempt of a node that is retried, else the node itself. */
  last: (node: RunNode) => RunNode;
}

/** Tell whether a node has others inside. */
export function isComposite(node: RunNode): boolean {
  return node.type === "dag" || node.type === "steps";
}

/** Index a graph. */
export function indexed(graph: Graph): Index {
  const byId = new Map(graph.actual.nodes.map((node) => [node.id, node]));
  const parents = new Map<string, string[]>();
  for (const { source, target } of graph.actual.edges) {
    const list = parents.get(target);
    if (list) list.push(source);
    else parents.set(target, [source]);
  }
  const tries = attemptsOf(graph, byId, parents);
  const hidden = new Set([...tries.values()].flat().map((node) => node.id));
  const inside = new Map<string, RunNode[]>();
  const roots: RunNode[] = [];
  for (const node of graph.actual.nodes) {
    if (node.type === "step-group" || hidden.has(node.id)) continue;
    if (!node.boundary_id) roots.push(node);
    else if (inside.has(node.boundary_id)) inside.get(node.boundary_id)!.push(node);
    else inside.set(node.boundary_id, [node]);
  }
  const attempts = (node: RunNode) => tries.get(node.id) ?? [];
  const last = (node: RunNode) => attempts(node).at(-1) ?? node;
  return { byId, parents, roots, inside, plan: planOf(graph), attempts, last };
}

function attemptsOf(
  graph: Graph,
  byId: ReadonlyMap<string, RunNode>,
  parents: ReadonlyMap<string, string[]>,
): Map<string, RunNode[]> {
  const found = new Map<string, RunNode[]>();
  for (const node of graph.actual.nodes) {
    for (const parent of parents.get(node.id) ?? []) {
      const above = byId.get(parent);
      if (above?.type !== "retry" || !node.name.startsWith(`${above.name}(`)) continue;
      const list = found.get(parent);
      if (list) list.push(node);
      else found.set(parent, [node]);
    }
  }
  return found;
}

function planOf(graph: Graph): Map<string, Plan> {
  const plan = new Map<string, Plan>();
  for (const { template, ...task } of graph.planned.nodes) {
    if (!plan.has(template)) plan.set(template, { tasks: [], arcs: [] });
    plan.get(template)!.tasks.push(task);
  }
  for (const { source, target } of graph.planned.edges) {
    const cut = source.indexOf("/");
    plan.get(source.slice(0, cut))?.arcs.push({ source: source.slice(cut + 1), target: target.slice(cut + 1) });
  }
  return plan;
}

/** Give the units that a node comes after, going up through what is not drawn. */
export function contracted(index: Index, node: RunNode, unitOf: ReadonlyMap<string, string>, stop: string): string[] {
  const own = unitOf.get(node.id);
  const found = new Set<string>();
  const seen = new Set<string>([stop]);
  const left = [...(index.parents.get(node.id) ?? [])];
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const unit = unitOf.get(id);
    if (unit !== undefined && unit !== own) found.add(unit);
    else left.push(...(index.parents.get(id) ?? []));
  }
  return [...found];
}
