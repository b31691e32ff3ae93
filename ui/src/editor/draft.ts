/** The text that is being written, kept over page changes and reloads; and texts to begin with. */

const KEY = "tiphys.draft";

export const BLANK = `apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: my-workflow-
spec:
  entrypoint: main
  templates:
    - name: main
      dag:
        tasks: []
`;

export const BLANK_FLOW = `apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata:
  name: my-flow
spec:
  jobRetainPolicy: delete
  flows: []
`;

const FILES = import.meta.glob<string>("../../../examples/*.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Names of the bundled examples. */
export const EXAMPLES: readonly string[] = Object.keys(FILES)
  .map((path) => path.replace(/^.*\/|\.yaml$/g, ""))
  .sort();

export function readExample(name: string): string | undefined {
  return Object.entries(FILES).find(([path]) => path.endsWith(`/${name}.yaml`))?.[1];
}

export function keepDraft(text: string): void {
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Full or forbidden: the text is still on the page.
  }
}

export function keptDraft(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

/** The text of a workflow that runs a template the server keeps. */
export function runTemplate(name: string, forAll: boolean): string {
  return [
    "apiVersion: argoproj.io/v1alpha1",
    "kind: Workflow",
    "metadata:",
    `  generateName: ${name}-`,
    "spec:",
    "  workflowTemplateRef:",
    `    name: ${name}`,
    ...(forAll ? ["    clusterScope: true"] : []),
    "",
  ].join("\n");
}
