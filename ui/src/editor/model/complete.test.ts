import { describe, expect, test } from "vitest";
import { suggest } from "./complete";
import { readModel } from "./read";
import type { Schema } from "./schema";
import { readSource } from "./source";
import { spotAt } from "./where";

const TEXT = `apiVersion: argoproj.io/v1alpha1
kind: Workflow
spec:
  entrypoint: main
  arguments:
    parameters:
    - name: who
      value: world
  templates:
  - name: main
    dag:
      tasks:
      - name: a
        template: work
      - name: b
        depends: a
        template: work
        when: "{{}}"
        withItems: [{port: 1}]
      - name: c
        template: work
  - name: work
    inputs:
      parameters: [{name: x}]
    container:
      image: busybox
    outputs:
      parameters:
      - name: out
`;

const SCHEMA: Schema = {
  oneOf: [{ properties: { kind: { const: "Workflow" } } }],
  $defs: {
    Workflow: { type: "object", properties: { spec: { $ref: "#/$defs/Spec" } } },
    Spec: { type: "object", properties: { templates: { type: "array", items: { $ref: "#/$defs/Template" } } } },
    Template: {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string" },
        daemon: { anyOf: [{ type: "boolean" }, { type: "null" }] },
        container: { anyOf: [{ $ref: "#/$defs/Container" }, { type: "null" }] },
      },
    },
    Container: {
      type: "object",
      description: "One container.",
      properties: { image: { type: "string" }, imagePullPolicy: { enum: ["Always", "Never"] } },
    },
  },
};

/** Put the cursor where `|` stands in the line that replaces `line`. */
function at(line: string, typed: string): { text: string; offset: number } {
  const start = TEXT.indexOf(line);
  const text = TEXT.replace(line, typed.replace("|", ""));
  return { text, offset: start + typed.indexOf("|") };
}

function labels(line: string, typed: string): string[] {
  const { text, offset } = at(line, typed);
  const model = readModel(readSource(TEXT));
  return suggest(text, offset, SCHEMA, model)?.options.map((each) => each.label) ?? [];
}

describe("the place of the cursor", () => {
  test.each([
    ["      image: busybox", "      im|", ["spec", "templates", "container"], undefined],
    ["      image: busybox", "      image: b|", ["spec", "templates", "container"], "image"],
    ["      - name: b", "      - na|", ["spec", "templates", "dag", "tasks"], undefined],
    ["        depends: a", "        depends: |", ["spec", "templates", "dag", "tasks"], "depends"],
    ["    dag:", "    d|", ["spec", "templates"], undefined],
    ["  entrypoint: main", "  entry|", ["spec"], undefined],
    ["kind: Workflow", "ki|", [], undefined],
  ])("%s → %s", (line, typed, keys, key) => {
    const { text, offset } = at(line, typed);

    expect(spotAt(text, offset)).toMatchObject({ keys, key });
  });
});

describe("suggestions", () => {
  test("of keys come from the schema", () => {
    expect(labels("      image: busybox", "      im|")).toEqual(["image", "imagePullPolicy"]);
    expect(labels("    dag:", "    |")).toEqual(["name", "daemon", "container"]);
  });

  test("of values come from the schema", () => {
    expect(labels("      image: busybox", "      imagePullPolicy: |")).toEqual(["Always", "Never"]);
    expect(labels("    dag:", "    daemon: |")).toEqual(["true", "false"]);
    expect(labels("kind: Workflow", "kind: |")).toEqual(["Workflow"]);
  });

  test("of templates and tasks come from the text", () => {
    expect(labels("  entrypoint: main", "  entrypoint: |")).toEqual(["main", "work"]);
    expect(labels("        depends: a", "        depends: |")).toEqual(["a", "c"]);
  });

  test("of variables are those in scope", () => {
    const found = labels('        when: "{{}}"', '        when: "{{|}}"');

    expect(found).toContain("tasks.a.outputs.parameters.out");
    expect(found).toContain("item.port");
    expect(found).toContain("workflow.parameters.who");
    expect(found).not.toContain("tasks.c.outputs.result");
    expect(found).not.toContain("inputs.parameters.x");
  });

  test("are none in a comment", () => {
    expect(labels("    dag:", "    # d|")).toEqual([]);
  });
});
