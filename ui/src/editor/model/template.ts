/** A workflow as a template to keep: its kind and name change, the rest of the text stays as it is. */
import { edited } from "./editing";
import { removeIn, setIn } from "./patch";
import { readModel } from "./read";
import { EditError, type Source } from "./source";

const KEEPABLE = new Set(["Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"]);

/** Tell whether there is a workflow in a text that can be kept as a template. */
export function isKeepable(kind: string | undefined): boolean {
  return kind !== undefined && KEEPABLE.has(kind);
}

/** Give the text of a template with this name; `forAll` for one that is of no project. */
export function templateOf(source: Source, name: string, forAll: boolean): string {
  const main = readModel(source).main;
  if (!main || !isKeepable(main.kind)) throw new EditError("There is no workflow in this text.");
  const { index } = main;
  const { text } = edited(source, ({ draft }) => {
    setIn(draft, index, ["kind"], forAll ? "ClusterWorkflowTemplate" : "WorkflowTemplate");
    setIn(draft, index, ["metadata", "name"], name);
    for (const gone of ["generateName", "namespace"]) removeIn(draft, index, ["metadata", gone]);
  });
  return alone(text, index);
}

/** Give one document of a text, with its comments. */
function alone(text: string, index: number): string {
  const parts = text.split(/^---(?:[ \t].*)?$/m);
  // A text that begins with a mark has nothing before it.
  const first = parts[0]?.trim() === "" && parts.length > 1 ? 1 : 0;
  return parts.length - first > 1 ? `${parts[first + index]?.trim() ?? ""}\n` : text;
}
