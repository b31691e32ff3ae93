import { expect, it } from "vitest";

import { readSource } from "./source";
import { templateOf } from "./template";

const WORKFLOW = `# Greets.
apiVersion: argoproj.io/v1alpha1
kind: Workflow   # one run
metadata:
  generateName: greet-
  labels: {a: b}
spec:
  entrypoint: main
  templates:
  - name: main   # only one
    container: {image: busybox}
`;

it("changes kind and name, and nothing else", () => {
  expect(templateOf(readSource(WORKFLOW), "greet", false)).toBe(
    WORKFLOW.replace("kind: Workflow ", "kind: WorkflowTemplate ")
      .replace("  generateName: greet-\n", "")
      .replace("  labels: {a: b}\n", "  labels: {a: b}\n  name: greet\n"),
  );
});

it("makes one for all projects", () => {
  expect(templateOf(readSource(WORKFLOW), "greet", true)).toContain("kind: ClusterWorkflowTemplate");
});

it("takes the workflow alone from among other documents", () => {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n${WORKFLOW}`;

  const made = templateOf(readSource(text), "greet", false);

  expect(made.startsWith("# Greets.")).toBe(true);
  expect(made).not.toContain("ConfigMap");
});

it("works where the metadata holds nothing but a generated name", () => {
  const text = WORKFLOW.replace("  labels: {a: b}\n", "");

  expect(templateOf(readSource(text), "greet", false)).toMatch(/metadata:\s+name: greet\n/);
});

it("refuses a text without a workflow", () => {
  expect(() => templateOf(readSource("kind: JobFlow\n"), "x", false)).toThrow("no workflow");
});
