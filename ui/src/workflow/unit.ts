/** One box of the graph, and how the states of many are one. Pure. */
import type { RunNode } from "./runs";

/** The size of a box. */
export const WIDTH = 190;
export const HEIGHT = 52;

export interface Unit {
  key: string;
  /** `more` stands for copies that are not drawn. */
  kind: "task" | "composite" | "fan" | "planned" | "more";
  name: string;
  template: string;
  type: string;
  /** Whether it will be copied for each item, and under which condition it runs. */
  loop: boolean;
  when: string;
  status: string;
  /** The id of its node, where there is one. */
  node: string | null;
  /** Ids of the nodes that it stands for. */
  members: string[];
  counts: Readonly<Record<string, number>>;
  attempts: number;
  open: boolean;
}

export interface View {
  units: Unit[];
  edges: { source: string; target: string }[];
}

/** Give the state of many things together: what is worst, then what still moves. */
export function statusOf(counts: Readonly<Record<string, number>>): string {
  const has = (name: string) => (counts[name] ?? 0) > 0;
  if (has("running")) return "running";
  if (has("error")) return "error";
  if (has("failed")) return "failed";
  if (has("pending")) return has("succeeded") ? "running" : "pending";
  if (has("planned")) return has("succeeded") ? "running" : "planned";
  if (has("succeeded")) return "succeeded";
  return has("omitted") ? "omitted" : has("skipped") ? "skipped" : "planned";
}

/** Count states. */
export function countsOf(nodes: readonly { status: string }[], planned = 0): Record<string, number> {
  const counts: Record<string, number> = planned ? { planned } : {};
  for (const { status } of nodes) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Make a unit stand for many nodes. */
export function together(unit: Unit, nodes: readonly RunNode[], planned: number): Unit {
  const counts = countsOf(nodes, planned);
  return {
    ...unit,
    kind: "fan",
    members: nodes.map((node) => node.id),
    counts,
    status: unit.node ? unit.status : statusOf(counts),
  };
}
