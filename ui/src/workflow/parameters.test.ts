import { expect, it } from "vitest";

import { givenTo, parametersOf } from "./parameters";

it("reads the arguments of the workflow among several documents", () => {
  const text = `
kind: ConfigMap
---
kind: Workflow
spec:
  arguments:
    parameters:
    - {name: who, value: world, description: whom to greet}
    - {name: size, default: 3, enum: [1, 2, 3]}
`;

  expect(parametersOf(text)).toEqual([
    { name: "who", value: "world", description: "whom to greet", choices: [] },
    { name: "size", value: "3", description: "", choices: ["1", "2", "3"] },
  ]);
});

it("finds none in what is no workflow", () => {
  expect(parametersOf("a: [")).toEqual([]);
  expect(parametersOf("kind: Workflow\nspec: {arguments: {}}")).toEqual([]);
});

it("takes the values that a run was given over those that are written down", () => {
  const written = parametersOf("kind: Workflow\nspec: {arguments: {parameters: [{name: who, value: world, enum: [world, moon]}]}}");

  const given = givenTo(written, { who: "moon", more: "1" });

  expect(given.map(({ name, value, choices }) => [name, value, choices.length])).toEqual([
    ["who", "moon", 2],
    ["more", "1", 0],
  ]);
});
