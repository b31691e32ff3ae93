/** The `{{…}}` variables that mean something at a place of a workflow. */
import { type DocumentModel, type Model, type Task, type Template, asList, asMap, calledBy, text } from "./read";

export interface Variable {
  readonly name: string;
  readonly about: string;
}

const WORKFLOW: readonly Variable[] = [
  { name: "workflow.name", about: "the name of this run" },
  { name: "workflow.namespace", about: "the project it runs in" },
  { name: "workflow.uid", about: "its unique id" },
  { name: "workflow.mainEntrypoint", about: "the template it began with" },
  { name: "workflow.serviceAccountName", about: "on a cluster" },
  { name: "workflow.parameters", about: "all parameters as JSON" },
  { name: "workflow.creationTimestamp", about: "when it was made" },
  { name: "workflow.creationTimestamp.RFC3339", about: "when it was made" },
  { name: "workflow.priority", about: "its priority" },
  { name: "workflow.duration", about: "seconds so far" },
];
const AT_EXIT: readonly Variable[] = [
  { name: "workflow.status", about: "how it ended; in exit handlers" },
  { name: "workflow.failures", about: "what failed, as JSON; in exit handlers" },
];

export function variablesAt(model: Model, offset: number): Variable[] {
  const template = model.templates.find((each) => each.from <= offset && offset <= each.to);
  const document = template ? model.documents[template.document] : model.main;
  const global = [...WORKFLOW, ...(document ? parametersOf(document) : []), ...AT_EXIT];
  if (!template) return global;
  const task = template.tasks.find((each) => each.from <= offset && offset <= each.to);
  return [
    ...(task ? loopVariables(task) : []),
    ...inputsOf(template),
    ...ownOf(template),
    ...others(template, task).flatMap((each) => taskVariables(model, template, each)),
    ...global,
  ];
}

function parametersOf(document: DocumentModel): Variable[] {
  return document.parameters.map((each) => ({
    name: `workflow.parameters.${each.name}`,
    about: each.description || (each.value === undefined ? "" : `= ${each.value}`),
  }));
}

function names(value: unknown, key: "parameters" | "artifacts"): string[] {
  return asList(asMap(value)[key]).map((each) => text(asMap(each)["name"])).filter(Boolean);
}

function inputsOf(template: Template): Variable[] {
  const { inputs } = template.body;
  return [
    ...names(inputs, "parameters").map((each) => ({ name: `inputs.parameters.${each}`, about: "an input" })),
    ...names(inputs, "artifacts").map((each) => ({ name: `inputs.artifacts.${each}.path`, about: "where the file is" })),
  ];
}

function ownOf(template: Template): Variable[] {
  const { outputs } = template.body;
  const found = [
    ...names(outputs, "artifacts").map((each) => ({ name: `outputs.artifacts.${each}.path`, about: "where to write it" })),
    { name: "node.name", about: "the full name of this node" },
    { name: "pod.name", about: "the name of its pod" },
  ];
  if ("retryStrategy" in template.body) found.push({ name: "retries", about: "how often it was tried before" });
  return found;
}

/** List the tasks whose results are known when `task` begins; at the end of a template, all. */
function others(template: Template, task: Task | undefined): readonly Task[] {
  if (!task) return template.tasks;
  const known = new Set<string>();
  const left = [...task.needs];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (known.has(name)) continue;
    known.add(name);
    left.push(...(template.tasks.find((each) => each.name === name)?.needs ?? []));
  }
  return template.tasks.filter((each) => known.has(each.name));
}

function taskVariables(model: Model, template: Template, task: Task): Variable[] {
  if (template.kind !== "dag" && template.kind !== "steps") return [];
  const start = `${template.kind === "dag" ? "tasks" : "steps"}.${task.name}`;
  const outputs = calledBy(model, template, task)?.body["outputs"];
  return [
    { name: `${start}.outputs.result`, about: "what it printed" },
    ...names(outputs, "parameters").map((each) => ({ name: `${start}.outputs.parameters.${each}`, about: "an output" })),
    ...names(outputs, "artifacts").map((each) => ({ name: `${start}.outputs.artifacts.${each}`, about: "an output file" })),
    { name: `${start}.status`, about: "how it ended" },
    { name: `${start}.exitCode`, about: "its exit code" },
    { name: `${start}.ip`, about: "the address of a daemon" },
    { name: `${start}.startedAt`, about: "when it began" },
    { name: `${start}.finishedAt`, about: "when it ended" },
  ];
}

function loopVariables(task: Task): Variable[] {
  if (!task.loop) return [];
  const first = asList(task.loop.value)[0];
  const keys = Object.keys(asMap(first)).map((key) => ({ name: `item.${key}`, about: "of this item" }));
  return [{ name: "item", about: "the item of this round" }, ...keys];
}
