import { describe, expect, test } from "vitest";
import { addTaskTo, removeTaskFrom, renameTaskIn, tasksOf } from "./depends";

describe("depends expressions", () => {
  test.each([
    ["", []],
    ["a", ["a"]],
    ["a && b.Succeeded||!c-d.Failed", ["a", "b", "c-d"]],
    ["(a || a.Skipped)", ["a"]],
    ["a &&", []],
    ["a b", []],
  ])("%s names its tasks", (text, names) => {
    expect(tasksOf(text)).toEqual(names);
  });

  test.each([
    ["", "x", "x"],
    ["a", "x", "a && x"],
    ["a || b", "x", "(a || b) && x"],
    ["a  &&  b", "x", "a  &&  b && x"],
    ["a && x.Failed", "x", "a && x.Failed"],
  ])("%s takes %s in", (text, name, made) => {
    expect(addTaskTo(text, name)).toBe(made);
  });

  test.each([
    ["a", "a", ""],
    ["a && b", "a", "b"],
    ["a && (b.Succeeded || c) && d", "d", "a && (b.Succeeded || c)"],
    ["a && (b.Succeeded||c)", "c", "a && b.Succeeded"],
    ["a && !(b || c || d)", "b", "a && !(c || d)"],
    ["!a || (b)", "a", "(b)"],
    ["(a)", "a", ""],
  ])("%s lets %s go", (text, name, made) => {
    expect(removeTaskFrom(text, name)).toBe(made);
  });

  test("a rename leaves names alone that only begin alike", () => {
    expect(renameTaskIn("a && a-b.Failed || (a.Succeeded)", "a", "first")).toBe(
      "first && a-b.Failed || (first.Succeeded)",
    );
  });
});
