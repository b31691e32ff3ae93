/** What adding a box means for the template that is shown. */
import type { Choice } from "./Palette";
import { KINDS } from "./kinds";
import { type Where, addJob, addTask, addTaskWithTemplate, freeName, whereOf, wrapInDag } from "./model/edits";
import type { Value } from "./model/emit";
import { type Model, type Template, isGroup } from "./model/read";
import { type Edit, type Source, readSource } from "./model/source";

export interface Addition {
  readonly make: (source: Source) => Edit;
  /** Where it goes, and what is chosen afterwards. */
  readonly where: Where;
  readonly name: string;
}

type Names = readonly string[];

/** Work out what adding something to a template means, and what it will be called. */
export function additionOf(model: Model, template: Template, choice: Choice, after: string | undefined): Addition {
  const reuses = choice.startsWith("use:");
  const what = choice.slice(choice.indexOf(":") + 1);
  const known = model.documents[template.document]?.templates.map((each) => each.name) ?? [];
  if (!isGroup(template.kind)) return wrapped(template, what, known);
  const where = whereOf(template);
  const taken = template.tasks.map((each) => each.name);
  const needs = after === undefined ? {} : { after: [after] };
  if (template.kind === "jobflow" && !reuses) {
    const name = freeName(what, [...taken, ...model.templates.map((each) => each.name)]);
    return { where, name, make: (source) => addJob(source, where, { name, template: "", ...needs }) };
  }
  if (reuses) {
    const name = freeName(what, taken);
    return { where, name, make: (source) => addTask(source, where, { name, template: what, ...needs }) };
  }
  const name = freeName(what, [...taken, ...known]);
  const task = { name, template: name, ...needs };
  return { where, name, make: (source) => addTaskWithTemplate(source, where, task, bodyOf(what)) };
}

/** A template that stands alone is put into a DAG first; both are one edit, so one undo. */
function wrapped(template: Template, kind: string, known: Names): Addition {
  const dag = freeName("main", known);
  const name = freeName(kind, [...known, dag]);
  const where = { document: template.document, template: dag };
  const task = { name, template: name, after: [template.name] };
  return {
    where,
    name,
    make: (source) => {
      const wrapping = wrapInDag(source, whereOf(template), dag);
      const adding = addTaskWithTemplate(readSource(wrapping.text), where, task, bodyOf(kind));
      return { text: adding.text, steps: [...wrapping.steps, ...adding.steps] };
    },
  };
}

function bodyOf(kind: string): { [key: string]: Value } {
  return KINDS.find((each) => each.kind === kind)?.body ?? {};
}
