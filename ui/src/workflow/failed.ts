/** Which nodes made a workflow fail. Pure. */
import type { Graph } from "../api/workflows";
import { isStructure } from "./gantt";

/**
 * Give the nodes that failed by themselves, and not because of others inside of them. Of a node that was
 * tried several times the last attempt; none where one of them went well.
 */
export function failedOf(graph: Graph): string[] {
  const { nodes, edges } = graph.actual;
  const isBad = ({ status }: { status: string }) => status === "failed" || status === "error";
  const retries = new Map(nodes.filter((node) => node.type === "retry").map((node) => [node.id, isBad(node)]));
  const retryOf = new Map(edges.filter((edge) => retries.has(edge.source)).map((edge) => [edge.target, edge.source]));
  const found = new Map<string, string>();
  for (const { id, type } of nodes.filter(isBad)) {
    const retry = retryOf.get(id);
    if (isStructure(type) || (retry !== undefined && !retries.get(retry))) continue;
    found.set(retry ?? id, id);
  }
  return [...found.values()];
}
