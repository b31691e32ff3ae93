/** The parameters of a workflow, read from its text. Pure. */
import { parseAllDocuments } from "yaml";

export interface Parameter {
  name: string;
  value: string;
  description: string;
  choices: string[];
}

interface Raw {
  name?: unknown;
  value?: unknown;
  default?: unknown;
  description?: unknown;
  enum?: unknown;
}

/** Give the arguments of the first Workflow in a text; none where it cannot be read. */
export function parametersOf(text: string): Parameter[] {
  try {
    for (const document of parseAllDocuments(text)) {
      if (!("toJS" in document)) continue;
      const manifest = document.toJS() as { kind?: string; spec?: { arguments?: { parameters?: Raw[] } } } | null;
      if (manifest?.kind !== undefined && manifest.kind !== "Workflow") continue;
      const found = manifest?.spec?.arguments?.parameters;
      if (Array.isArray(found)) return found.filter((each) => typeof each?.name === "string").map(read);
    }
  } catch {
    // Not YAML: then there is nothing to ask for.
  }
  return [];
}

/** Give what a run was really given: its text says only what it would have been without a form. */
export function givenTo(written: readonly Parameter[], values: Readonly<Record<string, string | null>>): Parameter[] {
  const known = written.map((each) => ({ ...each, value: values[each.name] ?? each.value }));
  const others = Object.entries(values).filter(([name]) => !written.some((each) => each.name === name));
  return [...known, ...others.map(([name, value]) => ({ name, value: value ?? "", description: "", choices: [] }))];
}

function read(raw: Raw): Parameter {
  const value = raw.value ?? raw.default ?? "";
  return {
    name: String(raw.name),
    value: typeof value === "object" ? JSON.stringify(value) : String(value),
    description: typeof raw.description === "string" ? raw.description : "",
    choices: Array.isArray(raw.enum) ? raw.enum.map(String) : [],
  };
}
