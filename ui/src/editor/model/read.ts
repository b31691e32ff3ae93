/**
 * What a text says, as a person thinks of it: documents, templates, tasks and what waits for what.
 *
 * Reading never fails: what cannot be made out is left out, and what it was read from is told by paths
 * and offsets, so that edits can find it again.
 */
import { isMap } from "yaml";
import { tasksOf } from "./depends";
import { type Path, type Source, nodeAt } from "./source";

export type LeafKind = "container" | "script" | "suspend" | "resource" | "http" | "data" | "plugin" | "job";
export type GroupKind = "dag" | "steps" | "containerSet" | "jobflow";
export type TemplateKind = LeafKind | GroupKind | "unknown";

export const LOOPS = ["withItems", "withParam", "withSequence"] as const;
export type LoopKind = (typeof LOOPS)[number];

export interface Loop {
  readonly kind: LoopKind;
  readonly value: unknown;
}

export interface Task {
  readonly name: string;
  readonly path: Path;
  readonly from: number;
  readonly to: number;
  /** The template it runs; "" where that is written in the task itself or elsewhere. */
  readonly calls: string;
  /** In words, where it is not a template of this text: `inline`, `library/greet`. */
  readonly elsewhere: string;
  /** The tasks of the same template that it waits for. */
  readonly needs: readonly string[];
  readonly depends: string | undefined;
  readonly when: string;
  readonly loop: Loop | undefined;
  /** Which group of steps it belongs to. */
  readonly group: number;
}

export interface Template {
  readonly document: number;
  readonly path: Path;
  readonly name: string;
  readonly kind: TemplateKind;
  readonly from: number;
  readonly to: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tasks: readonly Task[];
}

export interface Parameter {
  readonly name: string;
  readonly value: string | undefined;
  readonly fallback: string | undefined;
  readonly choices: readonly string[];
  readonly description: string;
  readonly fromElsewhere: boolean;
}

export interface DocumentModel {
  readonly index: number;
  readonly kind: string;
  readonly name: string;
  /** Where templates, arguments and entrypoint stand: `spec`, or `spec.workflowSpec`. */
  readonly spec: Path;
  readonly entrypoint: string;
  readonly templates: readonly Template[];
  readonly parameters: readonly Parameter[];
  readonly workflowTemplate: string;
}

export interface Model {
  readonly documents: readonly DocumentModel[];
  readonly templates: readonly Template[];
  /** The document that would be run. */
  readonly main: DocumentModel | undefined;
}

type Plain = Record<string, unknown>;
const LEAVES = ["container", "script", "suspend", "resource", "http", "data", "plugin"] as const;

export function readModel(source: Source): Model {
  const documents = source.documents.map((_, index) => readDocument(source, index));
  const runnable = documents.find((each) => ["Workflow", "JobFlow", "CronWorkflow"].includes(each.kind));
  return {
    documents,
    templates: documents.flatMap((each) => each.templates),
    main: runnable ?? documents.find((each) => each.templates.length > 0) ?? documents[0],
  };
}

function readDocument(source: Source, index: number): DocumentModel {
  const whole = asMap(plain(source, index));
  const kind = text(whole["kind"]);
  const meta = asMap(whole["metadata"]);
  const spec: Path = kind === "CronWorkflow" ? ["spec", "workflowSpec"] : ["spec"];
  const body = asMap(spec.reduce<unknown>((at, key) => asMap(at)[String(key)], whole));
  const name = text(meta["name"]) || text(meta["generateName"]);
  return {
    index,
    kind,
    name,
    spec,
    entrypoint: text(body["entrypoint"]),
    templates: readTemplates(source, index, kind, name, spec, body),
    parameters: asList(asMap(body["arguments"])["parameters"]).map(readParameter),
    workflowTemplate: text(asMap(body["workflowTemplateRef"])["name"]),
  };
}

function plain(source: Source, index: number): unknown {
  try {
    return source.documents[index]?.toJS({ maxAliasCount: 1000 });
  } catch {
    return undefined; // Aliases without anchors, or far too many of them.
  }
}

function readTemplates(
  source: Source,
  document: number,
  kind: string,
  name: string,
  spec: Path,
  body: Plain,
): Template[] {
  if (kind === "JobFlow") {
    return [template(source, { document, path: spec, name, kind: "jobflow", body })];
  }
  if (kind === "JobTemplate") {
    return [template(source, { document, path: spec, name, kind: "job", body })];
  }
  return asList(body["templates"]).map((each, index) => {
    const found = asMap(each);
    const path = [...spec, "templates", index];
    return template(source, { document, path, name: text(found["name"]), kind: kindOf(found), body: found });
  });
}

export function kindOf(body: Plain): TemplateKind {
  for (const kind of ["dag", "steps", "containerSet", ...LEAVES] as const) {
    if (kind in body) return kind;
  }
  return "unknown";
}

function template(source: Source, said: Omit<Template, "from" | "to" | "tasks">): Template {
  const tasks = readTasks(source, said);
  return { ...said, ...spanOf(source, said.document, said.path), tasks };
}

function spanOf(source: Source, document: number, path: Path): { from: number; to: number } {
  const node = nodeAt(source.documents[document]?.contents, path);
  return { from: node?.range[0] ?? 0, to: node?.range[1] ?? 0 };
}

/** Give where the tasks of a template are listed. */
export function tasksPath(template: Pick<Template, "path" | "kind">): Path {
  switch (template.kind) {
    case "dag":
      return [...template.path, "dag", "tasks"];
    case "steps":
      return [...template.path, "steps"];
    case "containerSet":
      return [...template.path, "containerSet", "containers"];
    default:
      return [...template.path, "flows"];
  }
}

function readTasks(source: Source, of: Omit<Template, "from" | "to" | "tasks">): Task[] {
  const { document, kind, body } = of;
  const path = tasksPath(of);
  const read = (each: unknown, at: Path, group: number) => readTask(source, document, asMap(each), at, group);
  switch (kind) {
    case "dag":
      return asList(asMap(body["dag"])["tasks"]).map((each, index) => read(each, [...path, index], 0));
    case "containerSet":
      return asList(asMap(body["containerSet"])["containers"]).map((each, index) =>
        read(each, [...path, index], 0),
      );
    case "jobflow":
      return asList(body["flows"]).map((each, index) => {
        const task = read(each, [...path, index], 0);
        const needs = asList(asMap(asMap(each)["dependsOn"])["targets"]).map(text);
        return { ...task, calls: task.name, needs };
      });
    case "steps":
      return stepsOf(source, document, path, body);
    default:
      return [];
  }
}

/** Steps stand in groups; a step waits for all of the group before its own. */
function stepsOf(source: Source, document: number, path: Path, body: Plain): Task[] {
  const groups = asList(body["steps"]).map((group, index) =>
    asList(group).map((each, at) => readTask(source, document, asMap(each), [...path, index, at], index)),
  );
  return groups.flatMap((group, index) => {
    const before = groups.slice(0, index).filter((each) => each.length > 0).at(-1) ?? [];
    return group.map((each) => ({ ...each, needs: before.map(({ name }) => name) }));
  });
}

function readTask(source: Source, document: number, body: Plain, path: Path, group: number): Task {
  const reference = asMap(body["templateRef"]);
  const depends = "depends" in body ? text(body["depends"]) : undefined;
  const kind = LOOPS.find((each) => each in body);
  return {
    name: text(body["name"]),
    path,
    ...spanOf(source, document, path),
    calls: text(body["template"]),
    elsewhere: elsewhereOf(body, reference),
    needs: depends === undefined ? asList(body["dependencies"]).map(text) : tasksOf(depends),
    depends,
    when: text(body["when"]),
    loop: kind ? { kind, value: body[kind] } : undefined,
    group,
  };
}

function elsewhereOf(body: Plain, reference: Plain): string {
  if ("inline" in body) return `inline ${kindOf(asMap(body["inline"]))}`;
  if ("name" in reference) return `${text(reference["name"])}/${text(reference["template"])}`;
  return "";
}

function readParameter(given: unknown): Parameter {
  const body = asMap(given);
  return {
    name: text(body["name"]),
    value: "value" in body ? text(body["value"]) : undefined,
    fallback: "default" in body ? text(body["default"]) : undefined,
    choices: asList(body["enum"]).map(text),
    description: text(body["description"]),
    fromElsewhere: "valueFrom" in body,
  };
}

/** Read the parameters of a WorkflowTemplate's spec, as the server keeps it. */
export function parametersOf(spec: unknown): Parameter[] {
  return asList(asMap(asMap(spec)["arguments"])["parameters"]).map(readParameter);
}

export function asMap(value: unknown): Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Plain) : {};
}

export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function isGroup(kind: TemplateKind): kind is GroupKind {
  return ["dag", "steps", "containerSet", "jobflow"].includes(kind);
}

/** Find the template with which a run begins. */
export function entryOfModel(model: Model): Template | undefined {
  const { main } = model;
  return main?.templates.find((each) => each.name === main.entrypoint) ?? main?.templates[0];
}

/** Find the template that a task runs, among those of its own document first. */
export function calledBy(model: Model, from: Template, task: Task): Template | undefined {
  const same = (each: Template) => each.name === task.calls && each !== from;
  if (from.kind === "jobflow") return model.templates.find((each) => same(each) && each.kind === "job");
  return model.templates.find((each) => each.name === task.calls && each.document === from.document);
}

/** Tell whether a document is a map at all, which is what edits need. */
export function isEditable(source: Source, index: number): boolean {
  return source.mistakes.length === 0 && isMap(source.documents[index]?.contents);
}
