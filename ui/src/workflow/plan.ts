/**
 * What the graph of a workflow shows: the whole plan, with what ran of it. Pure.
 *
 * The server gives the plan by template (steps and tasks as written) and the nodes that came to be.
 * Here the two are joined: every call of a composite template is filled with the tasks of its plan,
 * each matched with its node by name. Copies of a loop become one unit, and so do many tasks with the
 * same template and the same neighbours, so that what is drawn stays small whatever has run.
 */
import type { Graph } from "../api/workflows";
import { contracted, indexed, isComposite, type Index, type PlannedTask, type RunNode } from "./runs";
import { together, type Unit, type View } from "./unit";

export { type Unit, type View } from "./unit";

/** So many copies of an expanded unit are drawn; the rest is counted. */
export const MAX_COPIES = 60;
/** So many alike tasks become one unit. */
const ALIKE = 8;
const MAX_DEPTH = 12;

/** Tells whether the unit of this key shows what is in it. */
export type IsOpen = (key: string, usual: boolean) => boolean;

interface Ends {
  ins: string[];
  outs: string[];
}

interface Task extends Partial<PlannedTask> {
  name: string;
  calls: string;
  node?: RunNode;
  copies: RunNode[];
}

/** Join plan and nodes. */
export function buildView(graph: Graph, isOpen: IsOpen): View {
  return new Builder(graph, isOpen).build();
}

class Builder {
  private readonly index: Index;
  private readonly units: Unit[] = [];
  private readonly edges = new Set<string>();
  private readonly unitOf = new Map<string, string>();

  constructor(
    private readonly graph: Graph,
    private readonly isOpen: IsOpen,
  ) {
    this.index = indexed(graph);
  }

  build(): View {
    const root = this.index.roots[0];
    if (!root) this.planOnly();
    else this.top(root);
    for (const extra of this.index.roots.slice(1)) this.after(extra, root!);
    return {
      units: this.units,
      edges: [...this.edges].map((pair) => {
        const [source, target] = pair.split("\n") as [string, string];
        return { source, target };
      }),
    };
  }

  private top(root: RunNode): void {
    const inner = this.index.last(root);
    if (!isComposite(inner)) {
      this.add(this.leaf({ name: root.name, calls: root.template ?? "", node: root, copies: [] }, root.id));
      return;
    }
    this.fill(inner, inner.template ?? "", "", 0);
  }

  /** Nothing has run yet. */
  private planOnly(): void {
    const first = this.graph.planned.entrypoint;
    if (!first) return;
    if (this.index.plan.has(first)) this.fill(null, first, "", 0);
    else this.add(this.leaf({ name: first, calls: first, copies: [] }, first));
  }

  /** Exit handlers and hooks of the workflow come after everything else. */
  private after(node: RunNode, root: RunNode): void {
    const ends = [...this.units].map((unit) => unit.key);
    const before = contracted(this.index, node, this.unitOf, root.id);
    const sources = before.length ? before : ends.filter((key) => !this.hasNext(key));
    const made = this.place({ name: node.name, calls: node.template ?? "", node, copies: [] }, node.id, 0);
    for (const source of sources) this.link([source], made.ins);
  }

  private hasNext(key: string): boolean {
    for (const pair of this.edges) if (pair.startsWith(`${key}\n`)) return true;
    return false;
  }

  /** Add the tasks of one call of a composite template. */
  private fill(node: RunNode | null, template: string, prefix: string, depth: number): Ends {
    const planned = this.index.plan.get(template);
    const members = node ? (this.index.inside.get(node.id) ?? []) : [];
    const { tasks, extras } = matched(planned?.tasks ?? [], members);
    const ends = new Map<string, Ends>();
    const arcs = planned?.arcs ?? [];
    for (const group of alike([...tasks.values()], arcs, this.index)) {
      const key = `${prefix}${prefix ? "/" : ""}${group[0]!.name}`;
      const made = group.length > 1 ? this.gather(group, key) : this.place(group[0]!, key, depth);
      for (const task of group) ends.set(task.name, made);
    }
    for (const { source, target } of arcs) this.link(ends.get(source)?.outs, ends.get(target)?.ins);
    for (const extra of extras) this.unplanned(extra, node!, prefix, depth, ends);
    return outer(ends, arcs);
  }

  private unplanned(task: Task, inside: RunNode, prefix: string, depth: number, ends: Map<string, Ends>): void {
    const made = this.place(task, `${prefix}${prefix ? "/" : ""}${task.name}`, depth);
    const sample = task.node ?? task.copies[0]!;
    for (const source of contracted(this.index, sample, this.unitOf, inside.id)) this.link([source], made.ins);
    ends.set(task.name, made);
  }

  /** Add the unit of one task, and what is in it where it is open. */
  private place(task: Task, key: string, depth: number): Ends {
    if (task.copies.length || task.node?.type === "task-group") return this.fan(task, key);
    const inner = task.node ? this.index.last(task.node) : null;
    const planned = this.index.plan.has(task.calls);
    if (inner ? !isComposite(inner) : !planned) {
      return this.add(this.leaf(task, key));
    }
    const open = depth < MAX_DEPTH && this.isOpen(key, inner !== null && depth < 3 && !this.isLarge(inner));
    const unit: Unit = { ...this.leaf(task, key), kind: "composite", open };
    const own = this.add(unit);
    if (!open) {
      if (inner) this.index.inside.get(inner.id)?.forEach((each) => this.unitOf.set(each.id, key));
      return own;
    }
    const ends = this.fill(inner, inner?.template ?? task.calls, key, depth + 1);
    this.link([key], ends.ins);
    return { ins: [key], outs: ends.outs.length ? ends.outs : [key] };
  }

  private isLarge(node: RunNode): boolean {
    return (this.index.inside.get(node.id)?.length ?? 0) > 60;
  }

  private leaf(task: Task, key: string): Unit {
    const { node } = task;
    if (node) this.unitOf.set(node.id, key);
    const attempts = node ? this.index.attempts(node) : [];
    for (const each of attempts) this.unitOf.set(each.id, key);
    return {
      key,
      kind: node ? "task" : "planned",
      name: task.name,
      template: task.calls,
      type: (node && this.index.last(node).type) ?? task.type ?? "",
      loop: task.loop ?? false,
      when: task.when ?? "",
      status: node?.status ?? "planned",
      node: node?.id ?? null,
      members: [],
      counts: {},
      attempts: attempts.length,
      open: false,
    };
  }

  /** Add the unit of a loop. */
  private fan(task: Task, key: string): Ends {
    const unit = together(this.leaf(task, key), task.copies, 0);
    return this.spread({ ...unit, open: this.isOpen(key, false) }, task.copies);
  }

  /** Add one unit for tasks that are alike. */
  private gather(tasks: Task[], key: string): Ends {
    const nodes = tasks.flatMap((task) => (task.node ? [task.node] : []));
    const { calls } = tasks[0]!;
    const base = this.leaf({ name: `${calls} (alike)`, calls, copies: [] }, `${key}…`);
    const unit = together(base, nodes, tasks.length - nodes.length);
    return this.spread({ ...unit, open: this.isOpen(unit.key, false) }, nodes);
  }

  /** Show the copies of a unit beside it where it is open, the ones that need eyes first. */
  private spread(unit: Unit, copies: RunNode[]): Ends {
    for (const each of copies) {
      this.unitOf.set(each.id, unit.key);
      for (const attempt of this.index.attempts(each)) this.unitOf.set(attempt.id, unit.key);
    }
    const own = this.add(unit);
    if (!unit.open) return own;
    const urgent = ["failed", "error", "running", "pending"];
    const order = (node: RunNode) => (urgent.indexOf(node.status) + urgent.length + 1) % (urgent.length + 1);
    const shown = [...copies].sort((a, b) => order(a) - order(b)).slice(0, MAX_COPIES);
    const keys = shown.map((node) => {
      const copy = this.leaf({ name: node.name, calls: unit.template, node, copies: [] }, node.id);
      this.add(copy);
      this.link([unit.key], [copy.key]);
      return copy.key;
    });
    if (copies.length > shown.length) keys.push(this.more(unit, copies.length - shown.length));
    return { ins: [unit.key], outs: keys.length ? keys : [unit.key] };
  }

  private more(unit: Unit, count: number): string {
    const key = `${unit.key}:more`;
    this.add({ ...unit, key, kind: "more", name: `${count.toLocaleString("en")} more`, members: [], counts: {}, open: false });
    this.link([unit.key], [key]);
    return key;
  }

  private add(unit: Unit): Ends {
    this.units.push(unit);
    return { ins: [unit.key], outs: [unit.key] };
  }

  private link(sources: readonly string[] = [], targets: readonly string[] = []): void {
    for (const source of sources) {
      for (const target of targets) if (source !== target) this.edges.add(`${source}\n${target}`);
    }
  }
}

/** Match the nodes inside of a composite one with the tasks of its plan. */
function matched(planned: readonly PlannedTask[], members: readonly RunNode[]) {
  const tasks = new Map<string, Task>(planned.map((each) => [each.name, { ...each, copies: [] }]));
  const extras = new Map<string, Task>();
  for (const node of members) {
    const base = node.name.replace(/\(\d+(:[^]*)?\)$/, "");
    const exact = tasks.get(node.name);
    const loop = base === node.name ? undefined : tasks.get(base);
    if (exact) exact.node = node;
    else if (loop) loop.copies.push(node);
    else {
      const extra = extras.get(base) ?? { name: base, calls: node.template ?? "", copies: [] };
      if (base === node.name) extra.node = node;
      else extra.copies.push(node);
      extras.set(base, extra);
    }
  }
  return { tasks, extras: extras.values() };
}

/** Put tasks together that have the same template and the same neighbours, where there are many. */
function alike(tasks: Task[], arcs: readonly { source: string; target: string }[], index: Index): Task[][] {
  if (tasks.length < ALIKE) return tasks.map((task) => [task]);
  const near = new Map<string, string[]>();
  const note = (name: string, text: string) => (near.get(name)?.push(text) ?? near.set(name, [text]));
  for (const { source, target } of arcs) {
    note(source, `>${target}`);
    note(target, `<${source}`);
  }
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const plain = !task.copies.length && !index.plan.has(task.calls) && task.node?.type !== "task-group";
    const sign = plain ? `${task.calls}\n${(near.get(task.name) ?? []).sort().join("\n")}` : `!${task.name}`;
    const group = groups.get(sign);
    if (group) group.push(task);
    else groups.set(sign, [task]);
  }
  return [...groups.values()].flatMap((group) => (group.length >= ALIKE ? [group] : group.map((each) => [each])));
}

/** Give the ends of a whole composite: tasks that nothing comes before, or after. */
function outer(ends: Map<string, Ends>, arcs: readonly { source: string; target: string }[]): Ends {
  const sources = new Set(arcs.map((arc) => arc.source));
  const targets = new Set(arcs.map((arc) => arc.target));
  const first = [...ends].filter(([name]) => !targets.has(name)).flatMap(([, each]) => each.ins);
  const last = [...ends].filter(([name]) => !sources.has(name)).flatMap(([, each]) => each.outs);
  return { ins: [...new Set(first)], outs: [...new Set(last)] };
}
