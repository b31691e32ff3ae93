/** What may be typed at a place of a text: keys and values of the schema, names, `{{…}}` variables. */
import { type Model, type Template, calledBy } from "./read";
import { type Schema, keysAt, kindsOf, valuesAt } from "./schema";
import { variablesAt } from "./variables";
import { spotAt } from "./where";

export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  readonly type: "key" | "value" | "variable" | "name";
  /** What is written; the label, if nothing else is said. */
  readonly insert?: string;
}

export interface Suggestions {
  readonly from: number;
  readonly options: readonly Suggestion[];
}

const VARIABLE = /\{\{=?\s*([\w.[\]'-]*)$/;

/** Suggest what may stand at `offset`. `model` is the last one that could be read. */
export function suggest(text: string, offset: number, schema: Schema | undefined, model: Model): Suggestions | undefined {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  const variable = VARIABLE.exec(line);
  if (variable) return variables(text, offset, variable[1] ?? "", model);
  if (/^\s*#/.test(line)) return undefined;
  const { keys, key, word, from, kind } = spotAt(text, offset);
  if (key === undefined) {
    const known = schema ? keysAt(schema, kind, keys) : [];
    const options = known.map(keySuggestion);
    const named = namesFor(model, offset, keys.at(-1) ?? "");
    return found(from, [...named, ...options], word);
  }
  const fixed = schema ? (key === "kind" && keys.length === 0 ? kindsOf(schema) : valuesAt(schema, kind, [...keys, key])) : [];
  const values = fixed.map((label) => ({ label, detail: "", type: "value" as const }));
  return found(from, [...namesFor(model, offset, key), ...values], word);
}

function found(from: number, options: readonly Suggestion[], word: string): Suggestions | undefined {
  if (options.length === 0 || options.some((each) => each.label === word && options.length === 1)) return undefined;
  return { from, options };
}

function keySuggestion({ name, description, shape, required }: ReturnType<typeof keysAt>[number]): Suggestion {
  const detail = [required ? "required" : "", description].filter(Boolean).join(" · ");
  return { label: name, detail, type: "key", insert: shape === "value" ? `${name}: ` : `${name}:` };
}

function variables(text: string, offset: number, word: string, model: Model): Suggestions {
  const closed = text.slice(offset).startsWith("}}");
  const options = variablesAt(model, offset).map(({ name, about }) => ({
    label: name,
    detail: about,
    type: "variable" as const,
    insert: closed ? name : `${name}}}`,
  }));
  return { from: offset - word.length, options };
}

/** Names of this text that a key asks for: templates, and tasks that may be waited for. */
function namesFor(model: Model, offset: number, key: string): Suggestion[] {
  const home = model.templates.find((each) => each.from <= offset && offset <= each.to);
  const inDocument = (each: Template) => each.document === (home?.document ?? model.main?.index);
  if (["template", "entrypoint", "onExit"].includes(key)) {
    return model.templates
      .filter(inDocument)
      .map((each) => ({ label: each.name, detail: each.kind, type: "name" as const }));
  }
  if (!home || !["depends", "dependencies", "targets"].includes(key)) return [];
  return home.tasks
    .filter((each) => !(each.from <= offset && offset <= each.to))
    .map((each) => ({
      label: each.name,
      detail: calledBy(model, home, each)?.kind ?? each.elsewhere,
      type: "name" as const,
    }));
}
