/** What all edits have in common: the text that is changed, and where its templates are. */
import { type Model, type Task, type Template, readModel } from "./read";
import { Draft, type Edit, EditError, type Source } from "./source";

const NAME = /^[a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?$/;

/** Names a template of a text that may be read again and again. */
export interface Where {
  readonly document: number;
  readonly template: string;
}

export function whereOf(template: Template): Where {
  return { document: template.document, template: template.name };
}

export function findTemplate(model: Model, where: Where): Template | undefined {
  return model.documents[where.document]?.templates.find((each) => each.name === where.template);
}

export class Editing {
  readonly draft: Draft;

  constructor(source: Source) {
    this.draft = new Draft(source);
  }

  get model(): Model {
    return readModel(this.draft.source);
  }

  template(where: Where): Template {
    const found = findTemplate(this.model, where);
    if (!found) throw new EditError(`There is no template "${where.template}".`);
    return found;
  }

  task(where: Where, name: string): Task {
    const found = this.template(where).tasks.find((each) => each.name === name);
    if (!found) throw new EditError(`There is no task "${name}" in "${where.template}".`);
    return found;
  }
}

/** Make an edit of a text that was read. */
export function edited(source: Source, change: (editing: Editing) => void): Edit {
  const editing = new Editing(source);
  change(editing);
  return editing.draft.edit();
}

/** Refuse a name that cannot be one, or that is taken. */
export function checkName(name: string, taken: readonly string[]): void {
  if (!NAME.test(name)) throw new EditError("A name has letters, digits, - and _ only.");
  if (taken.includes(name)) throw new EditError(`"${name}" is there already.`);
}

/** Give `name`, or with a number behind it the first that is free. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let number = 2; ; number++) {
    const next = `${name}-${number}`;
    if (!taken.includes(next)) return next;
  }
}
