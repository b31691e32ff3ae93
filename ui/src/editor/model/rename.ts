/** Other names for tasks and templates, everywhere where they are spoken of. */
import { isScalar, visit } from "yaml";
import type { ParsedNode } from "yaml";
import { renameTaskIn } from "./depends";
import { type Editing, type Where, checkName, edited } from "./editing";
import { setIn } from "./patch";
import type { Task, Template } from "./read";
import { inExpression, isExpressionKey, referencesIn } from "./references";
import { type Change, type Draft, type Edit, type Source, nodeAt } from "./source";

/** Give a task another name, everywhere in its template where it is spoken of. */
export function renameTask(source: Source, where: Where, old: string, name: string): Edit {
  return edited(source, (editing) => {
    if (old === name) return;
    const home = editing.template(where);
    checkName(name, home.tasks.map((each) => each.name));
    const { draft } = editing;
    const { path } = editing.task(where, old);
    for (const each of home.tasks) renameNeed(draft, where.document, home, each, old, name);
    setIn(draft, where.document, [...path, "name"], name);
    if (home.kind === "jobflow") {
      renameJob(editing, old, name);
      return;
    }
    const scope = home.kind === "steps" ? "steps" : "tasks";
    const node = nodeAt(draft.document(where.document).contents, home.path);
    if (node) draft.change(...referenceChanges(draft.text, node, scope, old, name));
  });
}

/** A flow is called as the JobTemplate it runs: that one, where it is in the text, goes along. */
function renameJob(editing: Editing, old: string, name: string): void {
  const jobs = editing.model.documents.filter((each) => each.kind === "JobTemplate");
  const found = jobs.find((each) => each.name === old);
  if (found && !jobs.some((each) => each.name === name)) {
    setIn(editing.draft, found.index, ["metadata", "name"], name);
  }
}

function renameNeed(draft: Draft, document: number, home: Template, task: Task, old: string, name: string): void {
  if (home.kind === "steps" || !task.needs.includes(old)) return;
  if (task.depends !== undefined) {
    setIn(draft, document, [...task.path, "depends"], renameTaskIn(task.depends, old, name));
    return;
  }
  const list = home.kind === "jobflow" ? ["dependsOn", "targets"] : ["dependencies"];
  setIn(draft, document, [...task.path, ...list, task.needs.indexOf(old)], name);
}

/** Find references in all scalars below a node, where they stand in the text. */
function referenceChanges(
  text: string,
  node: ParsedNode,
  scope: "tasks" | "steps",
  old: string,
  insert: string,
): Change[] {
  const found: Change[] = [];
  visit(node, {
    Pair: (_, pair) => {
      if (isScalar(pair.key) && isExpressionKey(String(pair.key.value)) && isScalar(pair.value)) {
        const [from = 0, to = 0] = pair.value.range ?? [];
        const places = inExpression(text.slice(from, to), scope, old, from);
        found.push(...places.map((each) => ({ ...each, insert })));
        return visit.SKIP;
      }
      return undefined;
    },
    Scalar: (_, scalar) => {
      const [from = 0, to = 0] = scalar.range ?? [];
      const places = referencesIn(text.slice(from, to), scope, old);
      found.push(...places.map((each) => ({ from: from + each.from, to: from + each.to, insert })));
    },
  });
  return found;
}

/** Give a template another name, and all who call it. */
export function renameTemplate(source: Source, where: Where, name: string): Edit {
  return edited(source, (editing) => {
    const old = where.template;
    if (old === name) return;
    const document = editing.model.documents[where.document];
    checkName(name, document?.templates.map((each) => each.name) ?? []);
    const { draft } = editing;
    const { path } = editing.template(where);
    const root = draft.document(where.document).contents;
    const changes: Change[] = [];
    visit(root, {
      Pair: (_, pair, parents) => {
        const key = isScalar(pair.key) ? String(pair.key.value) : "";
        if (!["template", "entrypoint", "onExit"].includes(key) || isReference(parents)) return;
        if (isScalar(pair.value) && pair.value.value === old) {
          const [from = 0, to = 0] = pair.value.range ?? [];
          changes.push({ from, to, insert: draft.text.slice(from, to).replace(old, name) });
        }
      },
    });
    draft.change(...changes);
    setIn(draft, where.document, [...path, "name"], name);
  });
}

/** Tell whether a pair stands directly in a `templateRef`: that is another document's template. */
function isReference(parents: readonly unknown[]): boolean {
  const owner = parents.at(-2) as { key?: unknown } | undefined;
  return isScalar(owner?.key) && owner.key.value === "templateRef";
}
