import { describe, expect, test } from "vitest";
import { chance, samples } from "./corpus";
import {
  type Where,
  addEdge,
  addTask,
  addTaskWithTemplate,
  addTemplate,
  moveToGroup,
  removeEdge,
  removeTask,
  renameTask,
  renameTemplate,
  setLoop,
  setTaskField,
  setTemplateField,
  whereOf,
} from "./edits";
import { type Edit, EditError, applyChanges, readSource } from "./source";
import { type Template, entryOfModel, isGroup, readModel } from "./read";

const DIAMOND = `# Our diamond.
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: diamond-}
spec:
  entrypoint: main   # where it begins
  templates:
    - name: main
      dag:
        tasks:
          - name: a
            template: work
          # b comes second
          - name: b
            depends: a
            template: work
            arguments:
              parameters: [{name: x, value: "{{tasks.a.outputs.result}}"}]

          - {name: c, depends: "a", template: work}
          - name: d
            depends: b && c.Succeeded
            template: work
      outputs:
        parameters:
          - name: out
            valueFrom:
              expression: tasks['a'].outputs.result + tasks.a-b.x
    - name: work
      container:
        image: 'busybox'
        command: [sh, -c]
        args:
          - |
            echo one   
            echo {{inputs.parameters.x}}

    # the end
`;

const MAIN: Where = { document: 0, template: "main" };

function lines(text: string): string[] {
  return text.split("\n");
}

/** Give the lines that an edit took away and those it put in. */
function difference(before: string, edit: Edit): { gone: string[]; come: string[] } {
  const [old, made] = [lines(before), lines(edit.text)];
  let head = 0;
  while (head < Math.min(old.length, made.length) && old[head] === made[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, made.length) - head && old.at(-1 - tail) === made.at(-1 - tail)) tail++;
  return { gone: old.slice(head, old.length - tail), come: made.slice(head, made.length - tail) };
}

function edgesOf(text: string, where: Where): string[] {
  const model = readModel(readSource(text));
  const home = model.documents[where.document]?.templates.find((each) => each.name === where.template);
  return (home?.tasks ?? []).flatMap((each) => each.needs.map((need) => `${need}>${each.name}`));
}

describe("a DAG with depends", () => {
  const source = readSource(DIAMOND);

  test("is read with its edges", () => {
    expect(edgesOf(DIAMOND, MAIN)).toEqual(["a>b", "a>c", "b>d", "c>d"]);
  });

  test("gets a task at the end of its list", () => {
    const edit = addTask(source, MAIN, { name: "e", template: "work", after: ["d"] });

    expect(difference(DIAMOND, edit)).toEqual({
      gone: [],
      come: ["          - name: e", "            depends: d", "            template: work"],
    });
  });

  test("gets an edge in the words of the file", () => {
    const edit = addEdge(source, MAIN, "a", "d");

    expect(difference(DIAMOND, edit)).toEqual({
      gone: ["            depends: b && c.Succeeded"],
      come: ["            depends: b && c.Succeeded && a"],
    });
  });

  test("loses an edge and nothing else", () => {
    expect(difference(DIAMOND, removeEdge(source, MAIN, "a", "b"))).toEqual({
      gone: ["            depends: a"],
      come: [],
    });
    expect(difference(DIAMOND, removeEdge(source, MAIN, "a", "c"))).toEqual({
      gone: ['          - {name: c, depends: "a", template: work}'],
      come: ["          - {name: c, template: work}"],
    });
  });

  test("refuses a circle", () => {
    expect(() => addEdge(source, MAIN, "d", "a")).toThrow(EditError);
    expect(() => addEdge(source, MAIN, "a", "a")).toThrow(EditError);
  });

  test("forgets a task that is taken away", () => {
    const edit = removeTask(source, MAIN, "b");

    expect(edgesOf(edit.text, MAIN)).toEqual(["a>c", "c>d"]);
    expect(edit.text).toContain("          # b comes second\n");
    expect(edit.text).toContain("depends: c.Succeeded\n");
  });

  test("renames a task wherever it is spoken of", () => {
    const edit = renameTask(source, MAIN, "a", "first");

    expect(edgesOf(edit.text, MAIN)).toEqual(["first>b", "first>c", "b>d", "c>d"]);
    expect(edit.text).toContain('value: "{{tasks.first.outputs.result}}"');
    expect(edit.text).toContain("tasks['first'].outputs.result + tasks.a-b.x");
    expect(renameTask(readSource(edit.text), MAIN, "first", "a").text).toBe(DIAMOND);
  });

  test("renames a template with its callers", () => {
    const edit = renameTemplate(source, { document: 0, template: "work" }, "labour");

    expect(edit.text.match(/template: labour/g)).toHaveLength(4);
    expect(edit.text).toContain("    - name: labour\n");
    expect(edit.text.replaceAll("labour", "work")).toBe(DIAMOND);
  });

  test("gets condition and loop", () => {
    const when = setTaskField(source, MAIN, "a", ["when"], "{{workflow.parameters.x}} == 1");
    expect(difference(DIAMOND, when)).toEqual({
      gone: [],
      come: ['            when: "{{workflow.parameters.x}} == 1"'],
    });

    const loop = setLoop(source, MAIN, "a", { kind: "withItems", value: ["x", "z"] });
    expect(difference(DIAMOND, loop)).toEqual({ gone: [], come: ["            withItems: [x, z]"] });
    expect(setLoop(readSource(loop.text), MAIN, "a", undefined).text).toBe(DIAMOND);
  });

  test("gets a new template with a task", () => {
    const edit = addTaskWithTemplate(source, MAIN, { name: "s", template: "s", after: ["d"] }, {
      script: { image: "python", command: ["python3"], source: "print(1)\n" },
    });

    expect(edgesOf(edit.text, MAIN)).toContain("d>s");
    expect(edit.text).toContain("    - name: s\n      script:\n        image: python\n        command: [python3]\n        source: |\n          print(1)\n\n    # the end\n");
  });
});

describe("a leaf template", () => {
  const source = readSource(DIAMOND);
  const WORK: Where = { document: 0, template: "work" };

  test("gets another image in the same quotes", () => {
    expect(difference(DIAMOND, setTemplateField(source, WORK, ["container", "image"], "alpine:3"))).toEqual({
      gone: ["        image: 'busybox'"],
      come: ["        image: 'alpine:3'"],
    });
  });

  test("keeps the block of an argument", () => {
    const edit = setTemplateField(source, WORK, ["container", "args"], ["echo two\necho three\n"]);

    expect(difference(DIAMOND, edit)).toEqual({
      gone: ["            echo one   ", "            echo {{inputs.parameters.x}}"],
      come: ["            echo two", "            echo three"],
    });
  });

  test("gets and loses resources", () => {
    const edit = setTemplateField(source, WORK, ["container", "resources", "requests", "cpu"], "500m");
    expect(difference(DIAMOND, edit)).toEqual({
      gone: [],
      come: ["        resources:", "          requests:", "            cpu: 500m"],
    });

    const back = setTemplateField(readSource(edit.text), WORK, ["container", "resources", "requests", "cpu"], undefined);
    expect(back.text).toBe(DIAMOND);
  });
});

const STEPS = `kind: Workflow
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: one
        template: say   # first
    - - name: two
        template: say
        # inside of two
        when: "{{steps.one.outputs.result}} == 1"
      - name: three
        template: say
  - name: say
    suspend: {}
`;

describe("steps", () => {
  const source = readSource(STEPS);

  test("wait for the group before them", () => {
    expect(edgesOf(STEPS, MAIN)).toEqual(["one>two", "one>three"]);
  });

  test("are added beside others and behind them", () => {
    const beside = addTask(source, MAIN, { name: "four", template: "say", after: ["one"] });
    expect(difference(STEPS, beside).come).toEqual(["      - name: four", "        template: say"]);

    const behind = addTask(source, MAIN, { name: "four", template: "say", after: ["two"] });
    expect(difference(STEPS, behind).come).toEqual(["    - - name: four", "        template: say"]);
  });

  test("move with their comments", () => {
    const edit = moveToGroup(source, MAIN, "two", 2);

    expect(edgesOf(edit.text, MAIN)).toEqual(["one>three", "three>two"]);
    expect(edit.text).toContain(
      '    - - name: two\n        template: say\n        # inside of two\n        when: "{{steps.one.outputs.result}} == 1"\n',
    );
  });

  test("are moved by an edge", () => {
    expect(edgesOf(addEdge(source, MAIN, "two", "three").text, MAIN)).toEqual(["one>two", "two>three"]);
  });

  test("are renamed in tags", () => {
    const edit = renameTask(source, MAIN, "one", "uno");

    expect(edit.text).toContain("{{steps.uno.outputs.result}}");
    expect(renameTask(readSource(edit.text), MAIN, "uno", "one").text).toBe(STEPS);
  });

  test("take their group with them when the last one goes", () => {
    const edit = removeTask(source, MAIN, "one");

    expect(readModel(readSource(edit.text)).templates[0]?.tasks.map((each) => [each.name, each.group])).toEqual([
      ["two", 0],
      ["three", 0],
    ]);
  });
});

const FLOW = `apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata:
  name: voyage
spec:
  jobRetainPolicy: delete # after success
  flows:
    - name: a
    - name: b
      dependsOn:
        targets: ['a']
---
kind: JobTemplate
metadata:
  name: a
spec:
  tasks: []
`;

describe("a JobFlow", () => {
  const source = readSource(FLOW);
  const VOYAGE: Where = { document: 0, template: "voyage" };

  test("is a graph of its flows", () => {
    expect(edgesOf(FLOW, VOYAGE)).toEqual(["a>b"]);
  });

  test("gets flows and edges", () => {
    const edit = addTask(source, VOYAGE, { name: "c", template: "", after: ["a", "b"] });

    expect(edgesOf(edit.text, VOYAGE)).toEqual(["a>b", "a>c", "b>c"]);
    const back = removeTask(readSource(edit.text), VOYAGE, "c");
    expect(back.text).toBe(FLOW);
  });

  test("is renamed with the template that it runs", () => {
    const edit = renameTask(source, VOYAGE, "a", "row");

    expect(edgesOf(edit.text, VOYAGE)).toEqual(["row>b"]);
    expect(edit.text).toContain("kind: JobTemplate\nmetadata:\n  name: row\n");
    expect(renameTask(readSource(edit.text), VOYAGE, "row", "a").text).toBe(FLOW);
  });

  test("loses an edge with the map around it", () => {
    expect(difference(FLOW, removeEdge(source, VOYAGE, "a", "b"))).toEqual({
      gone: ["      dependsOn:", "        targets: ['a']"],
      come: [],
    });
  });
});

describe("the style of a file", () => {
  test("that lists dependencies is kept", () => {
    const text = DIAMOND.replace("depends: a\n", "dependencies: [a]\n")
      .replace('depends: "a"', "dependencies: [a]")
      .replace("depends: b && c.Succeeded", "dependencies:\n              - b\n              - c");
    const edit = addEdge(readSource(text), MAIN, "a", "d");
    expect(difference(text, edit)).toEqual({ gone: [], come: ["              - a"] });

    const fresh = addTask(readSource(text), MAIN, { name: "e", template: "work", after: ["a"] });
    expect(fresh.text).toContain("- name: e\n            dependencies: [a]\n            template: work\n");
  });
});

describe("what cannot be done", () => {
  test("is refused before anything changes", () => {
    const source = readSource(DIAMOND);
    expect(() => addTask(source, MAIN, { name: "a", template: "work" })).toThrow(/there already/);
    expect(() => addTask(source, MAIN, { name: "a b", template: "work" })).toThrow(EditError);
    expect(() => addTask(readSource("a: ["), MAIN, { name: "x", template: "y" })).toThrow(/cannot be read/);
  });
});

/** Edits by chance on every sample: the graph becomes what is expected, and comments stay. */
describe("every sample", () => {
  const graphs = samples().flatMap(({ name, text }) => {
    const source = readSource(text);
    const home = source.mistakes.length === 0 ? entryOfModel(readModel(source)) : undefined;
    return home && isGroup(home.kind) && home.tasks.length > 0 ? [{ name, text, home }] : [];
  });

  function again(text: string, home: Template): Template {
    const found = readModel(readSource(text)).documents[home.document]?.templates.find((each) => each.name === home.name);
    if (!found) throw new Error("the template is gone");
    return found;
  }

  const comments = (text: string) => lines(text).filter((line) => /^\s*#/.test(line));
  const names = (home: Template) => home.tasks.map((each) => each.name);

  test.each(graphs)("$name is edited by its graph", ({ name, text, home }) => {
    const where = whereOf(home);
    const source = readSource(text);
    const next = chance(text.length + name.length);
    const any = home.tasks[next(home.tasks.length)]?.name ?? "";

    const added = addTask(source, where, { name: "brand-new", template: "x", after: [any] });
    expect(names(again(added.text, home)).sort()).toEqual([...names(home), "brand-new"].sort());
    expect(again(added.text, home).tasks.find((each) => each.name === "brand-new")?.needs).toContain(any);
    expect(comments(added.text)).toEqual(comments(text));
    expect(removeTask(readSource(added.text), where, "brand-new").text.replaceAll(/\n\n+/g, "\n")).toBe(text.replaceAll(/\n\n+/g, "\n"));

    const renamed = renameTask(source, where, any, "brand-new");
    expect(names(again(renamed.text, home))).toEqual(names(home).map((each) => (each === any ? "brand-new" : each)));
    const renamedNeeds = again(renamed.text, home).tasks.map((each) => each.needs);
    expect(renamedNeeds).toEqual(home.tasks.map((each) => each.needs.map((need) => (need === any ? "brand-new" : need))));
    expect(lines(renamed.text)).toHaveLength(lines(text).length);
    expect(renameTask(readSource(renamed.text), where, "brand-new", any).text).toBe(text);

    const gone = removeTask(source, where, any);
    expect(names(again(gone.text, home))).toEqual(names(home).filter((each) => each !== any));
    expect(gone.steps.reduce((made, step) => applyChanges(made, step), text)).toBe(gone.text);

    if (home.kind === "jobflow") {
      expect(() => addTemplate(source, home.document, "brand-new", {})).toThrow(EditError);
      return;
    }
    const grown = addTemplate(source, home.document, "brand-new", { suspend: {} });
    expect(readModel(readSource(grown.text)).templates.map((each) => each.name)).toContain("brand-new");
    expect(comments(grown.text)).toEqual(comments(text));
  });
});
