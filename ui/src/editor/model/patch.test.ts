import { isAlias, isMap, isScalar, isSeq, visit } from "yaml";
import { describe, expect, test } from "vitest";
import { chance, samples } from "./corpus";
import type { Value } from "./emit";
import { insertItem, removeIn, removeItem, setIn } from "./patch";
import { Draft, type Path, applyChanges, readSource } from "./source";

const VALUES: Value[] = [
  "plain",
  "yes",
  "012",
  "{{inputs.parameters.x}}",
  "it's # not a comment",
  "two\nlines\n",
  "no end\n\n  of lines",
  "",
  7,
  true,
  ["sh", "-c", "echo: 'x', y"],
  { cpu: "2", memory: "1Gi" },
  [{ name: "a", value: "line\nline\n" }, ["b"]],
  [],
  {},
];

function draftOf(text: string): Draft {
  return new Draft(readSource(text));
}

function read(text: string): unknown[] {
  return readSource(text).documents.map((each) => each.toJS());
}

/** List every path of a document that no anchor leads to. */
function paths(draft: Draft, doc: number): Path[] {
  const found: Path[] = [];
  const walk = (path: Path) => {
    const node = draft.at(doc, path);
    if (path.length > 0 && node && !isAlias(node)) found.push(path);
    if (isMap(node)) for (const each of node.items) walk([...path, String(each.key)]);
    if (isSeq(node)) node.items.forEach((_, index) => { walk([...path, index]); });
  };
  walk([]);
  return found;
}

function withAnchors(text: string): boolean {
  let found = false;
  for (const each of readSource(text).documents) {
    visit(each, { Alias: () => { found = true; }, Pair: (_, pair) => { if (isScalar(pair.key) && pair.key.value === "<<") found = true; } });
  }
  return found;
}

function parentOf(root: unknown, path: Path): Record<string | number, unknown> {
  return path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], root) as Record<string | number, unknown>;
}

const texts = samples().filter(({ text }) => readSource(text).mistakes.length === 0 && !withAnchors(text));

/** Put the steps of a draft together again: they alone make the new text. */
function replayed(text: string, draft: Draft): string {
  return draft.steps.reduce((made, step) => applyChanges(made, step), text);
}

function squeezed(text: string): string {
  return text.replaceAll(/(?<=\S) *, *(?=\S)/g, ", ");
}

function comments(text: string): string[] {
  return text.split("\n").filter((line) => /^\s*#/.test(line));
}

describe("any value of any sample", () => {
  test("there are samples", () => {
    expect(texts.length).toBeGreaterThan(10);
  });

  test.each(texts)("can be set: $name", ({ name, text }) => {
    const next = chance(name.length * 31 + text.length);
    for (let round = 0; round < 4; round++) {
      const draft = draftOf(text);
      const doc = next(draft.source.documents.length);
      const all = paths(draft, doc);
      const path = all[next(all.length)];
      if (!path) continue;
      const value = VALUES[next(VALUES.length)] as Value;
      const expected = read(text);
      parentOf(expected[doc], path)[path.at(-1) as string] = value;

      setIn(draft, doc, path, value);

      expect(read(draft.text), `${path.join(".")} = ${JSON.stringify(value)}\n${draft.text}`).toEqual(expected);
      expect(replayed(text, draft)).toBe(draft.text);
    }
  });

  test.each(texts)("can get a new key: $name", ({ name, text }) => {
    const next = chance(name.length * 17 + text.length);
    for (let round = 0; round < 3; round++) {
      const draft = draftOf(text);
      const doc = next(draft.source.documents.length);
      const maps = paths(draft, doc).filter((path) => isMap(draft.at(doc, path)));
      const path = maps[next(maps.length)];
      if (!path) continue;
      const value = VALUES[next(VALUES.length)] as Value;
      const before = read(text);
      const expected = structuredClone(before);
      parentOf(expected[doc], [...path, "fresh"])["fresh"] = value;

      setIn(draft, doc, [...path, "fresh"], value);

      expect(read(draft.text), draft.text).toEqual(expected);
      expect(comments(draft.text)).toEqual(comments(text));
      removeIn(draft, doc, [...path, "fresh"]);
      expect(draft.text).toBe(text);
    }
  });

  test.each(texts)("can be taken away: $name", ({ name, text }) => {
    const next = chance(name.length * 13 + text.length);
    for (let round = 0; round < 3; round++) {
      const draft = draftOf(text);
      const doc = next(draft.source.documents.length);
      const all = paths(draft, doc);
      const path = all[next(all.length)];
      if (!path) continue;
      const expected = read(text);
      const parent = parentOf(expected[doc], path);
      if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
      else delete parent[path.at(-1) as string];

      removeIn(draft, doc, path);

      expect(read(draft.text), `${path.join(".")}\n${draft.text}`).toEqual(expected);
      expect(replayed(text, draft)).toBe(draft.text);
    }
  });

  test.each(texts)("can get items in its lists: $name", ({ name, text }) => {
    const next = chance(name.length * 7 + text.length);
    for (let round = 0; round < 3; round++) {
      const draft = draftOf(text);
      const doc = next(draft.source.documents.length);
      const lists = paths(draft, doc).filter((path) => isSeq(draft.at(doc, path)));
      const path = lists[next(lists.length)];
      if (!path) continue;
      const list = parentOf(read(text)[doc], [...path, 0]) as unknown as unknown[];
      const index = next(list.length + 1);
      const value = VALUES[next(VALUES.length)] as Value;
      const expected = read(text);
      (parentOf(expected[doc], [...path, 0]) as unknown as unknown[]).splice(index, 0, value);

      insertItem(draft, doc, path, index, value);

      expect(read(draft.text), `${path.join(".")} ${index} ${JSON.stringify(value)}\n${draft.text}`).toEqual(expected);
      removeItem(draft, doc, path, index);
      // In brackets the space beside a comma may go.
      expect(squeezed(draft.text)).toBe(squeezed(text));
    }
  });
});
