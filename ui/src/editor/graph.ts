/** What the editor draws of a template: boxes and arrows. Pure. */
import type { Mistake } from "../api/client";
import type { TaskData } from "./TaskNode";
import { type Model, type Task, type Template, calledBy, isGroup, text } from "./model/read";

export interface Box {
  readonly id: string;
  readonly data: TaskData;
}

export interface Arrow {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** Implied by the order of steps: not there to be taken away. */
  readonly fixed: boolean;
}

export interface Drawing {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

export function drawingOf(model: Model, template: Template, source: string, problems: readonly Mistake[]): Drawing {
  const starts = problems.length > 0 ? lineStarts(source) : [];
  const places = problems.map((each) => starts[(each.line ?? 0) - 1] ?? -1);
  // A problem is told by its line: it belongs to whatever has something on that line.
  const within = (from: number, to: number) => {
    if (places.length === 0) return 0;
    const first = source.lastIndexOf("\n", from - 1) + 1;
    return places.filter((at) => first <= at && at < Math.max(to, from + 1)).length;
  };
  if (!isGroup(template.kind)) return { boxes: [alone(template, within(template.from, template.to))], arrows: [] };
  const known = new Set(template.tasks.map((each) => each.name));
  const seen = new Set<string>();
  const tasks = template.tasks.filter((each) => !seen.has(each.name) && seen.add(each.name));
  return {
    boxes: tasks.map((each) => ({ id: each.name, data: dataOf(model, template, each, within(each.from, each.to)) })),
    arrows: tasks.flatMap((each) =>
      each.needs
        .filter((need) => known.has(need))
        .map((need) => ({
          id: `${need}→${each.name}`,
          source: need,
          target: each.name,
          fixed: template.kind === "steps",
        })),
    ),
  };
}

/** Give where each line begins. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function alone(template: Template, problems: number): Box {
  const data = { name: template.name, runs: "", kind: template.kind, when: "", loop: "", problems, connects: false, opens: false };
  return { id: template.name, data };
}

function dataOf(model: Model, home: Template, task: Task, problems: number): TaskData {
  const called = calledBy(model, home, task);
  const inSet = home.kind === "containerSet";
  return {
    name: task.name,
    runs: task.elsewhere || task.calls,
    kind: called?.kind ?? (inSet ? "container" : home.kind === "jobflow" ? "job" : "unknown"),
    when: task.when,
    loop: task.loop ? `${task.loop.kind} ${text(task.loop.value)}` : "",
    problems,
    connects: true,
    opens: called !== undefined && isGroup(called.kind),
  };
}
