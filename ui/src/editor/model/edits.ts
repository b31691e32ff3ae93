/**
 * What a person does to a workflow, as changes of its text.
 *
 * Each function takes the text that was read and gives an `Edit`; none keeps anything. What cannot be
 * done raises `EditError` with words for the person, and nothing has changed.
 */
import { addTaskTo, removeTaskFrom } from "./depends";
import { type Editing, type Where, checkName, edited } from "./editing";
import type { Value } from "./emit";
import { insertItem, moveItem, moveToNewItem, removeIn, removeItem, setIn } from "./patch";
import { LOOPS, type LoopKind, type Model, type Task, type Template, tasksPath } from "./read";
import { type Draft, type Edit, EditError, type Path, type Source } from "./source";

export { type Where, findTemplate, freeName, whereOf } from "./editing";
export { renameTask, renameTemplate } from "./rename";

const TASK_ORDER = [
  "name", "depends", "dependencies", "dependsOn", "templateRef", "template", "inline",
  "when", "withItems", "withParam", "withSequence", "arguments",
];
const TEMPLATE_ORDER = [
  "name", "image", "imagePullPolicy", "command", "args", "source", "workingDir", "env", "resources",
];

export interface NewTask {
  readonly name: string;
  /** The template to run. */
  readonly template: string;
  /** The tasks to wait for; of steps, the one whose next group it joins. */
  readonly after?: readonly string[];
}

export function addTask(source: Source, where: Where, task: NewTask): Edit {
  return edited(source, (editing) => { insertTask(editing, where, task); });
}

function insertTask(editing: Editing, where: Where, { name, template, after = [] }: NewTask): void {
  const home = editing.template(where);
  const path = tasksPath(home);
  checkName(name, home.tasks.map((each) => each.name));
  const { draft } = editing;
  if (home.kind === "steps") {
    const last = Math.max(-1, ...home.tasks.filter((each) => after.includes(each.name)).map((each) => each.group));
    const group = last === -1 ? groupCount(draft, where.document, path) : last + 1;
    addStep(draft, where.document, path, group, { name, template });
    return;
  }
  const body: { [key: string]: Value } =
    home.kind === "dag" ? { name, template } : home.kind === "jobflow" ? { name } : { name, image: "busybox" };
  insertItem(draft, where.document, path, home.tasks.length, body);
  for (const each of after) connect(editing, where, each, name);
}

function groupCount(draft: Draft, document: number, path: Path): number {
  const steps = draft.at(document, path);
  return steps && "items" in steps ? steps.items.length : 0;
}

function addStep(draft: Draft, document: number, path: Path, group: number, step: Value): void {
  const inner = draft.at(document, [...path, group]);
  if (group < groupCount(draft, document, path) && inner && "items" in inner) {
    insertItem(draft, document, [...path, group], inner.items.length, step);
  } else {
    insertItem(draft, document, path, group, [step]);
  }
}

/** Take a task away, and out of what others wait for. */
export function removeTask(source: Source, where: Where, name: string): Edit {
  return edited(source, (editing) => {
    const home = editing.template(where);
    if (home.kind !== "steps") {
      for (const each of home.tasks) {
        if (each.name !== name && each.needs.includes(name)) disconnect(editing, where, name, each.name);
      }
    }
    const { path } = editing.task(where, name);
    const list = tasksPath(home);
    // An empty group of steps goes with its last step; an empty list of tasks stays.
    if (home.kind === "steps" && groupCount(editing.draft, where.document, list) > 1) {
      removeIn(editing.draft, where.document, path, list.length);
    } else {
      removeItem(editing.draft, where.document, path.slice(0, -1), Number(path.at(-1)));
    }
  });
}

/** Make `to` wait for `from`. Of steps: move it behind the group of `from`. */
export function addEdge(source: Source, where: Where, from: string, to: string): Edit {
  return edited(source, (editing) => { connect(editing, where, from, to); });
}

function connect(editing: Editing, where: Where, from: string, to: string): void {
  const home = editing.template(where);
  if (from === to) throw new EditError("A task cannot wait for itself.");
  const [earlier, later] = [editing.task(where, from), editing.task(where, to)];
  if (home.kind === "steps") {
    if (later.group <= earlier.group) moveStep(editing, where, later, earlier.group + 1);
    return;
  }
  if (later.needs.includes(from)) return;
  if (waitsFor(home.tasks, from, to)) {
    throw new EditError(`"${from}" already waits for "${to}": they would wait for each other.`);
  }
  const { draft } = editing;
  const { document } = where;
  if (home.kind === "jobflow") {
    setIn(draft, document, [...later.path, "dependsOn", "targets", later.needs.length], from, TASK_ORDER);
  } else if (listsDependencies(editing.model, home, later)) {
    setIn(draft, document, [...later.path, "dependencies", later.needs.length], from, TASK_ORDER);
  } else {
    setIn(draft, document, [...later.path, "depends"], addTaskTo(later.depends ?? "", from), TASK_ORDER);
  }
}

/** Tell whether `from` waits for `to`, by itself or through others. */
function waitsFor(tasks: readonly Task[], from: string, to: string): boolean {
  const needs = new Map(tasks.map((each) => [each.name, each.needs]));
  const seen = new Set<string>();
  const left = [from];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === to) return true;
    if (seen.has(name)) continue;
    seen.add(name);
    left.push(...(needs.get(name) ?? []));
  }
  return false;
}

/** Tell how edges are written here. A DAG may not mix `depends` and `dependencies`. */
function listsDependencies(model: Model, home: Template, task: Task): boolean {
  if (home.kind === "containerSet") return true;
  if (task.depends !== undefined) return false;
  const uses = (tasks: readonly Task[]) => tasks.filter((each) => each.depends !== undefined || each.needs.length > 0);
  const near = uses(home.tasks);
  const others = near.length > 0 ? near : uses(model.templates.filter((each) => each.kind === "dag").flatMap((each) => each.tasks));
  return others.some((each) => each.depends === undefined) && !near.some((each) => each.depends !== undefined);
}

export function removeEdge(source: Source, where: Where, from: string, to: string): Edit {
  return edited(source, (editing) => { disconnect(editing, where, from, to); });
}

function disconnect(editing: Editing, where: Where, from: string, to: string): void {
  const home = editing.template(where);
  const task = editing.task(where, to);
  const { draft } = editing;
  const { document } = where;
  if (home.kind === "steps") {
    throw new EditError("Steps wait for the whole group before them; move the step to another group.");
  }
  if (task.depends !== undefined) {
    const left = removeTaskFrom(task.depends, from);
    if (left === "") removeIn(draft, document, [...task.path, "depends"]);
    else setIn(draft, document, [...task.path, "depends"], left);
    return;
  }
  const index = task.needs.indexOf(from);
  if (index === -1) return;
  const list = home.kind === "jobflow" ? ["dependsOn", "targets"] : ["dependencies"];
  removeIn(draft, document, [...task.path, ...list, index], task.path.length);
}

/** Move a step into another group; behind the last one, a new group is made. */
export function moveToGroup(source: Source, where: Where, name: string, group: number): Edit {
  return edited(source, (editing) => { moveStep(editing, where, editing.task(where, name), group); });
}

function moveStep(editing: Editing, where: Where, step: Task, group: number): void {
  const { draft } = editing;
  const { document } = where;
  const steps = tasksPath(editing.template(where));
  if (group === step.group) return;
  if (group >= groupCount(draft, document, steps)) {
    moveToNewItem(draft, document, step.path, steps);
  } else {
    moveItem(draft, document, step.path, [...steps, group]);
  }
  removeIn(draft, document, step.path, steps.length);
}

export function addTemplate(source: Source, document: number, name: string, body: { [key: string]: Value }): Edit {
  return edited(source, (editing) => { insertTemplate(editing, document, name, body); });
}

function insertTemplate(editing: Editing, document: number, name: string, body: { [key: string]: Value }): void {
  const found = editing.model.documents[document];
  if (!found) throw new EditError("There is no such document.");
  if (found.kind === "JobFlow" || found.kind === "JobTemplate") {
    throw new EditError(`A ${found.kind} has no templates inside of it.`);
  }
  checkName(name, found.templates.map((each) => each.name));
  insertItem(editing.draft, document, [...found.spec, "templates"], found.templates.length, { name, ...body });
}

/** Add a template and a task that runs it, as one edit. */
export function addTaskWithTemplate(
  source: Source,
  where: Where,
  task: NewTask,
  body: { [key: string]: Value },
): Edit {
  return edited(source, (editing) => {
    if (editing.template(where).kind === "dag" || editing.template(where).kind === "steps") {
      insertTemplate(editing, where.document, task.template, body);
    }
    insertTask(editing, where, task);
  });
}

export function removeTemplate(source: Source, where: Where): Edit {
  return edited(source, (editing) => {
    const { path } = editing.template(where);
    removeIn(editing.draft, where.document, path);
  });
}

/** Set a field of a template, such as `container.image`; undefined takes it away. */
export function setTemplateField(source: Source, where: Where, field: Path, value: Value | undefined): Edit {
  return edited(source, (editing) => {
    const { path } = editing.template(where);
    setField(editing.draft, where.document, path, field, value, TEMPLATE_ORDER);
  });
}

/** Set a field of a task, such as `when`; undefined takes it away. */
export function setTaskField(
  source: Source,
  where: Where,
  task: string,
  field: Path,
  value: Value | undefined,
): Edit {
  return edited(source, (editing) => {
    const { path } = editing.task(where, task);
    setField(editing.draft, where.document, path, field, value, TASK_ORDER);
  });
}

function setField(
  draft: Draft,
  document: number,
  path: Path,
  field: Path,
  value: Value | undefined,
  order: readonly string[],
): void {
  if (value === undefined) removeIn(draft, document, [...path, ...field], path.length);
  else setIn(draft, document, [...path, ...field], value, order);
}

/** Make a task a loop, another kind of loop, or none. */
export function setLoop(source: Source, where: Where, task: string, loop: { kind: LoopKind; value: Value } | undefined): Edit {
  return edited(source, (editing) => {
    const { path } = editing.task(where, task);
    for (const kind of LOOPS) {
      if (kind !== loop?.kind) removeIn(editing.draft, where.document, [...path, kind]);
    }
    if (loop) setIn(editing.draft, where.document, [...path, loop.kind], loop.value, TASK_ORDER);
  });
}

/** Set a value of a document as a whole, such as `spec.entrypoint`. */
export function setDocumentField(source: Source, document: number, path: Path, value: Value | undefined): Edit {
  return edited(source, ({ draft }) => { setField(draft, document, [], path, value, []); });
}

/**
 * Put a template that stands alone into a new DAG called `name`, which becomes the entrypoint: the way
 * from one container to a graph.
 */
export function wrapInDag(source: Source, where: Where, name: string): Edit {
  return edited(source, (editing) => {
    const document = editing.model.documents[where.document];
    if (!document) throw new EditError("There is no such document.");
    const task = { name: where.template, template: where.template };
    insertTemplate(editing, where.document, name, { dag: { tasks: [task] } });
    if (document.entrypoint === where.template || document.entrypoint === "") {
      setIn(editing.draft, where.document, [...document.spec, "entrypoint"], name);
    }
  });
}

/** Add a flow to a JobFlow, and at the end of the text the JobTemplate that it runs. */
export function addJob(source: Source, where: Where, task: NewTask): Edit {
  return edited(source, (editing) => {
    insertTask(editing, where, task);
    const { draft } = editing;
    const end = draft.text.length;
    const gap = draft.text.endsWith("\n") ? "" : "\n";
    draft.change({ from: end, to: end, insert: `${gap}---\n${jobTemplate(task.name)}` });
  });
}

function jobTemplate(name: string): string {
  return `apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata:
  name: ${name}
spec:
  minAvailable: 1
  tasks:
    - name: main
      replicas: 1
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: main
              image: busybox
              command: [sh, -c, echo hello]
`;
}
