import { describe, expect, test } from "vitest";
import type { Simulation } from "./api";
import { readModel } from "./model/read";
import { readSource } from "./model/source";
import { type Typed, changedParameters, faultsOf, nameFor, queuesFor, rowsOf, sortMistakes, submissionOf } from "./submission";

const TEXT = `kind: Workflow
metadata: {generateName: My_Work-}
spec:
  arguments:
    parameters:
    - {name: who, value: world, description: whom to greet, enum: [world, moon]}
    - {name: days, default: 3}
    - {name: need}
`;
const document = readModel(readSource(TEXT)).main;
const parameters = document?.parameters ?? [];
const TYPED: Typed = {
  name: "x", project: "default", queue: null, scheduler: null, priority: "", description: "", cpu: " ", memory: "1Gi",
  parameters: { who: "moon", days: "3", need: "", other: "1" },
};

describe("the form", () => {
  test("reads parameters with choices, defaults and words", () => {
    expect(parameters).toMatchObject([
      { name: "who", value: "world", choices: ["world", "moon"], description: "whom to greet" },
      { name: "days", fallback: "3" },
      { name: "need", value: undefined },
    ]);
  });

  test("suggests a name that the server takes", () => {
    expect(nameFor(document)).toBe("my-work");
    expect(nameFor(undefined)).toBe("workflow");
  });

  test("sends what was changed only", () => {
    expect(changedParameters(TYPED, parameters)).toEqual({ who: "moon", days: "3", need: "" });
    expect(submissionOf({ ...TYPED, priority: "7" }, TEXT, parameters)).toMatchObject({
      priority: 7,
      scheduler: null,
      estimated_cpu: null,
      estimated_memory: "1Gi",
    });
    expect(submissionOf(TYPED, TEXT, parameters).priority).toBeNull();
  });

  test("offers the open queues of the scheduler that will take it", () => {
    const queue = (id: string, scheduler: string, status = "open") => ({ id, scheduler, status });
    const queues = [queue("q-default", "local"), queue("q-shut", "local", "closed"), queue("q-volcano:default", "volcano")];

    expect(queuesFor(queues, "local").map(({ id }) => id)).toEqual(["q-default"]);
    expect(queuesFor(queues, "volcano").map(({ id }) => id)).toEqual(["q-volcano:default"]);
    expect(queuesFor(queues, undefined)).toHaveLength(2);
  });

  test("says what is missing", () => {
    expect(faultsOf({ ...TYPED, name: "No", priority: "soon", parameters: {} }, parameters)).toEqual({
      name: expect.any(String) as string,
      priority: expect.any(String) as string,
      "parameters.need": "needs a value",
    });
    expect(faultsOf(TYPED, parameters)).toEqual({});
  });

  test("puts mistakes where they belong", () => {
    const inText = { path: "spec", line: 3, column: 1, message: "no" };
    const inField = { path: "queue_id", line: null, column: null, message: "unknown" };
    expect(sortMistakes([inText, inField])).toEqual({ fields: { queue_id: "unknown" }, text: [inText] });
  });

  test("orders the bars of a simulation", () => {
    const task = (id: string, start: number) => ({ id, workflow: "w-1", queue: "default", ready: 0, start, end: start + 1, preempted: 0 });
    const simulation = { gantt: [task("w-1/w-1.b", 2), task("w-1/w-1.a(0:x)", 1), task("w-1/w-1", 3)] } as unknown as Simulation;

    expect(rowsOf(simulation).map((each) => each.name)).toEqual(["a(0:x)", "b", "w-1"]);
  });
});
