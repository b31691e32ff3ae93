/** Changes of a live workflow, folded into what was read of it. Pure. */
import type { NodeChange, Update } from "../api/live";
import type { Graph, Workflow } from "../api/workflows";

/** What is known of a graph after changes of nodes; `missing` tells whether some must be asked for. */
export function fold(graph: Graph, changes: ReadonlyMap<string, NodeChange>): { graph: Graph; missing: boolean } {
  const known = new Set<string>();
  let touched = false;
  const nodes = graph.actual.nodes.map((node) => {
    known.add(node.id);
    const change = changes.get(node.id);
    if (!change || change.status === node.status) return node;
    touched = true;
    return { ...node, status: change.status };
  });
  const edges = [...graph.actual.edges];
  let missing = false;
  for (const change of changes.values()) {
    if (known.has(change.id)) continue;
    if (change.type === undefined || change.dependencies === undefined) {
      missing = true;
      continue;
    }
    touched = true;
    nodes.push({
      id: change.id,
      name: change.display_name ?? change.name ?? change.id,
      type: change.type,
      status: change.status,
      template: change.template ?? null,
      boundary_id: change.boundary_id ?? null,
    });
    edges.push(...change.dependencies.map((source) => ({ source, target: change.id })));
  }
  return { graph: touched ? { ...graph, actual: { nodes, edges } } : graph, missing };
}

/** Fold one message into the workflow itself. */
export function foldWorkflow(before: Workflow | undefined, update: Update): Workflow | undefined {
  const whole = update.workflow ? { ...update.workflow, nodes: [] } : before;
  if (!whole) return undefined;
  return { ...whole, status: update.status, progress: update.progress, message: update.message };
}
