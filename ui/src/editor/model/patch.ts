/**
 * The smallest changes of a text that set, add or take away one value of a YAML document.
 *
 * Everything an edit does comes down to the functions here. They look at where nodes stand in the text
 * and change these places only: comments, quoting, order and blank lines around them stay.
 */
import { isAlias, isMap, isScalar, isSeq } from "yaml";
import type { ParsedNode, YAMLSeq } from "yaml";
import {
  type Style,
  type Value,
  blockLines,
  flowText,
  indented,
  isScalarValue,
  itemLines,
  pairLines,
  scalarText,
} from "./emit";
import { flowKey, insertFlow, isJson, removeFlow } from "./flow";
import {
  colonEnd,
  columnOf,
  contentEnd,
  dashes,
  entryEnd,
  isBlank,
  isFlow,
  keyColumn,
  lineEnd,
  lineStart,
} from "./place";
import { quoteOf, replaceScalar, replaceWithLines } from "./scalar";
import { type Block, type Draft, EditError, type Entry, type Path, entryOf } from "./source";
import { styleOf } from "./style";

type List = YAMLSeq<ParsedNode>;

/** Set the value at `path`; what is missing on the way is made. `order` says where a new key goes. */
export function setIn(
  draft: Draft,
  doc: number,
  path: Path,
  value: Value,
  order: readonly string[] = [],
): void {
  for (let depth = 0; depth < path.length; depth++) {
    const node = draft.at(doc, path.slice(0, depth));
    const key = path[depth] as string | number;
    const wanted = () => nest(path.slice(depth + 1), value);
    if (isAlias(node)) throw anchored();
    if (isBlank(node)) {
      replaceValue(draft, doc, path.slice(0, depth), nest(path.slice(depth), value));
      return;
    }
    if (isMap(node) && !entryOf(node as Block, String(key))) {
      insertEntry(draft, doc, path.slice(0, depth), String(key), wanted(), order);
      return;
    }
    if (isSeq(node) && typeof key === "number" && key >= node.items.length) {
      insertItem(draft, doc, path.slice(0, depth), node.items.length, wanted());
      return;
    }
    if (!isMap(node) && !isSeq(node)) {
      replaceValue(draft, doc, path.slice(0, depth), nest(path.slice(depth), value));
      return;
    }
  }
  assign(draft, doc, path, value);
}

function anchored(): EditError {
  return new EditError("This comes from an anchor (&) elsewhere in the text; change it there.");
}

function nest(path: Path, value: Value): Value {
  return path.reduceRight<Value>(
    (inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }),
    value,
  );
}

/** Change a value that exists into another one, leaving alone what is equal in both. */
function assign(draft: Draft, doc: number, path: Path, value: Value): void {
  const node = draft.at(doc, path);
  if (isAlias(node)) throw anchored();
  if (node && sameValue(node.toJS(draft.document(doc)), value)) return;
  if (isMap(node) && isMapValue(value) && Object.keys(value).length > 0 && !isMerged(node as Block)) {
    assignMap(draft, doc, path, value);
  } else if (isSeq(node) && Array.isArray(value) && value.length > 0 && node.items.length > 0) {
    assignList(draft, doc, path, value);
  } else {
    replaceValue(draft, doc, path, value);
  }
}

function assignMap(draft: Draft, doc: number, path: Path, value: { [key: string]: Value }): void {
  for (const [key, each] of Object.entries(value)) setIn(draft, doc, [...path, key], each);
  const map = draft.at(doc, path) as Block;
  const gone = map.items.map((each) => String(each.key)).filter((key) => !(key in value));
  for (const key of gone) removeEntry(draft, doc, path, key);
}

function assignList(draft: Draft, doc: number, path: Path, value: Value[]): void {
  for (let index = (draft.at(doc, path) as List).items.length - 1; index >= value.length; index--) {
    removeItem(draft, doc, path, index);
  }
  value.forEach((each, index) => setIn(draft, doc, [...path, index], each));
}

function isMapValue(value: Value): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMerged(map: Block): boolean {
  return map.items.some((each) => String(each.key) === "<<");
}

export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = b as Record<string, unknown>;
  return (
    left.length === Object.keys(b).length &&
    left.every(([key, each]) => key in right && sameValue(each, right[key]))
  );
}

/** Write a new value where another one stands. */
function replaceValue(draft: Draft, doc: number, path: Path, value: Value): void {
  const parent = draft.at(doc, path.slice(0, -1));
  const key = path.at(-1);
  const style = styleOf(draft.source.documents);
  if (isMap(parent)) {
    const entry = entryOf(parent as Block, String(key));
    if (entry) replaceEntry(draft, parent as Block, entry, value, style);
  } else if (isSeq(parent) && typeof key === "number") {
    replaceItem(draft, parent as List, key, value, style);
  } else {
    throw new EditError("There is nothing here yet; start from an example.");
  }
}

function replaceEntry(draft: Draft, map: Block, entry: Entry, value: Value, style: Style): void {
  const { text } = draft;
  const node = entry.value;
  if (node && isScalar(node) && !isBlank(node) && isScalarValue(value)) {
    replaceScalar(draft, node, value, isFlow(map), keyColumn(text, map));
    return;
  }
  const from = colonEnd(text, entry);
  const to = entryEnd(text, entry);
  if (isFlow(map)) {
    draft.change({ from, to, insert: ` ${flowText(value, isJson(text, map))}` });
    return;
  }
  const [first = "", ...rest] = pairLines("k", value, style);
  const lines = [first.slice(2), ...indented(rest, keyColumn(text, map))];
  // A comment behind the colon stays behind it.
  const at = to === from && lines.length > 1 && lines[0] === "" ? lineEnd(text, from) : from;
  replaceWithLines(draft, at, Math.max(at, to), lines);
}

function replaceItem(draft: Draft, list: List, index: number, value: Value, style: Style): void {
  const { text } = draft;
  const node = list.items[index];
  if (!node) throw new EditError("There is no such item.");
  if (isFlow(list)) {
    const json = isJson(text, list);
    const insert = isScalar(node) && isScalarValue(value)
      ? scalarText(value, true, json ? "double" : quoteOf(node))
      : flowText(value, json);
    draft.change({ from: node.range[0], to: contentEnd(text, node), insert });
    return;
  }
  const dash = dashes(list)[index] ?? 0;
  const column = columnOf(text, dash);
  if (isScalar(node) && !isBlank(node) && isScalarValue(value)) {
    replaceScalar(draft, node, value, false, column);
    return;
  }
  const [first = "", ...rest] = blockLines(value, style);
  const lines = [first, ...indented(rest, column + 2)];
  const to = isBlank(node) ? dash + 1 : contentEnd(text, node);
  replaceWithLines(draft, dash + 1, to, [` ${lines[0] ?? ""}`, ...lines.slice(1)]);
}

/** Add an entry to a map, behind the last key that comes before it in `order`, or at the end. */
export function insertEntry(
  draft: Draft,
  doc: number,
  path: Path,
  key: string,
  value: Value,
  order: readonly string[] = [],
): void {
  const map = draft.at(doc, path);
  if (!isMap(map)) throw new EditError("Only a map has entries.");
  const { text } = draft;
  if (isFlow(map)) {
    insertFlow(draft, map as Block, `${flowKey(text, map as Block, key)}: ${flowText(value, isJson(text, map as Block))}`);
    return;
  }
  const column = keyColumn(text, map as Block);
  const lines = pairLines(key, value, styleOf(draft.source.documents));
  const earlier = order.slice(0, Math.max(0, order.indexOf(key)));
  const known = map.items.filter((each) => earlier.includes(String((each as Entry).key)));
  const before = (known.at(-1) ?? map.items.at(-1)) as Entry;
  insertLines(draft, entryEnd(text, before), lines, column, 0);
}

/** Put lines behind the line in which something ends. */
function insertLines(
  draft: Draft,
  end: number,
  lines: readonly string[],
  column: number,
  blanks: number,
): void {
  const { text } = draft;
  const body = indented(lines, column).join("\n");
  if (end > 0 && text[end - 1] === "\n") {
    draft.change({ from: end, to: end, insert: `${body}\n` });
    return;
  }
  const at = lineEnd(text, end);
  draft.change({ from: at, to: at, insert: "\n".repeat(blanks + 1) + body });
}

/** Put an item into a list. */
export function insertItem(
  draft: Draft,
  doc: number,
  path: Path,
  index: number,
  value: Value,
): void {
  const list = draft.at(doc, path);
  if (!isSeq(list)) {
    setIn(draft, doc, path, [value]);
    return;
  }
  if (isFlow(list) && list.items.length === 0 && !isFlow(draft.at(doc, path.slice(0, -1)))) {
    replaceValue(draft, doc, path, [value]);
    return;
  }
  if (isFlow(list)) {
    insertFlow(draft, list as List, flowText(value, isJson(draft.text, list as List)), index);
    return;
  }
  insertItemLines(draft, list as List, index, itemLines(value, styleOf(draft.source.documents)));
}

function insertItemLines(draft: Draft, list: List, index: number, lines: readonly string[]): void {
  const { text } = draft;
  const marks = dashes(list);
  const column = columnOf(text, marks[0] ?? 0);
  const blanks = isAiry(text, marks) ? 1 : 0;
  if (index >= list.items.length) {
    const last = list.items.at(-1) as ParsedNode;
    const end = isBlank(last) ? (marks.at(-1) ?? 0) + 1 : contentEnd(text, last);
    insertLines(draft, end, lines, column, blanks);
    return;
  }
  const from = marks[index] ?? 0;
  const [first = "", ...rest] = lines;
  const insert = [first, ...indented(rest, column)].join("\n");
  draft.change({ from, to: from, insert: `${insert}${"\n".repeat(blanks + 1)}${" ".repeat(column)}` });
}

/** Tell whether the items of a list stand apart by blank lines. */
function isAiry(text: string, marks: readonly number[]): boolean {
  const gaps = marks.slice(1).map((mark, index) => text.slice(marks[index], mark));
  return gaps.length > 0 && gaps.every((gap) => /\n[ \t]*\n[^\n]*$/.test(gap) || /\n\s*\n\s*#/.test(gap));
}

/** Take away what is at `path`, and the maps and lists above it that become empty, down to `keep` deep. */
export function removeIn(draft: Draft, doc: number, path: Path, keep = path.length - 1): void {
  if (draft.at(doc, path) === undefined) return;
  let end = path.length;
  while (end - 1 > keep) {
    const parent = draft.at(doc, path.slice(0, end - 1));
    if (isAlias(parent)) throw anchored();
    if (!(isMap(parent) || isSeq(parent)) || parent.items.length > 1) break;
    end--;
  }
  const parent = draft.at(doc, path.slice(0, end - 1));
  const key = path[end - 1];
  if (isMap(parent)) removeEntry(draft, doc, path.slice(0, end - 1), String(key));
  else if (isSeq(parent)) removeItem(draft, doc, path.slice(0, end - 1), Number(key));
}

function removeEntry(draft: Draft, doc: number, path: Path, key: string): void {
  const { text } = draft;
  const map = draft.at(doc, path) as Block;
  const index = map.items.findIndex((each) => String(each.key) === key);
  const entry = map.items[index];
  if (!entry) return;
  if (map.items.length === 1 && !isFlow(map)) {
    replaceValue(draft, doc, path, {});
    return;
  }
  if (isFlow(map)) {
    removeFlow(draft, map, index);
    return;
  }
  removeLines(draft, entry.key.range[0], entryEnd(text, entry), map.items[index + 1]?.key.range[0]);
}

/**
 * Take away the lines of one part of a block; its first line may begin with dashes of lists.
 * `blank` says whether a blank line goes with it: 1 for the one behind it, -1 for the one before it.
 */
function removeLines(
  draft: Draft,
  from: number,
  end: number,
  next: number | undefined,
  blank = 0,
): void {
  const { text } = draft;
  const start = lineStart(text, from);
  if (text.slice(start, from).trim() !== "") {
    // The dash before it stays for what comes next. Comments between the two stay as well.
    const between = next === undefined ? "" : text.slice(lineEnd(text, end), next);
    const to = next === undefined || between.includes("#") ? lineEnd(text, end) : next;
    draft.change({ from, to: Math.max(from, to), insert: "" });
    return;
  }
  let stop = text[end - 1] === "\n" ? end - 1 : lineEnd(text, end);
  let first = start;
  if (blank > 0 && /^\n[ \t]*\n/.test(text.slice(stop))) stop = lineEnd(text, stop + 1);
  if (blank < 0 && /\n[ \t]*\n$/.test(text.slice(0, start))) first = lineStart(text, start - 1);
  if (stop < text.length) draft.change({ from: first, to: stop + 1, insert: "" });
  else draft.change({ from: Math.max(0, first - 1), to: stop, insert: "" });
}

export function removeItem(draft: Draft, doc: number, path: Path, index: number): void {
  const { text } = draft;
  const list = draft.at(doc, path);
  if (!isSeq(list)) return;
  const item = list.items[index] as ParsedNode | undefined;
  if (!item) return;
  if (list.items.length === 1 && !isFlow(list)) {
    replaceValue(draft, doc, path, []);
    return;
  }
  if (isFlow(list)) {
    removeFlow(draft, list as List, index);
    return;
  }
  const marks = dashes(list);
  const mark = marks[index] ?? 0;
  const end = isBlank(item) ? mark + 1 : contentEnd(text, item);
  const airy = isAiry(text, marks);
  removeLines(draft, mark, end, marks[index + 1], airy ? (index + 1 < marks.length ? 1 : -1) : 0);
}

/** Move an item of one block list to the end of another, as it is written, comments inside and all. */
export function moveItem(draft: Draft, doc: number, from: Path, to: Path): void {
  const target = blockList(draft, doc, to);
  const lines = writtenLines(draft.text, blockList(draft, doc, from.slice(0, -1)), Number(from.at(-1)));
  insertItemLines(draft, target, target.items.length, lines);
}

/** Move an item of a block list into a list of its own, a new item at the end of the list `to`. */
export function moveToNewItem(draft: Draft, doc: number, from: Path, to: Path): void {
  const target = blockList(draft, doc, to);
  const [first = "", ...rest] = writtenLines(
    draft.text,
    blockList(draft, doc, from.slice(0, -1)),
    Number(from.at(-1)),
  );
  insertItemLines(draft, target, target.items.length, [`- ${first}`, ...indented(rest, 2)]);
}

function blockList(draft: Draft, doc: number, path: Path): List {
  const list = draft.at(doc, path);
  if (!isSeq(list) || isFlow(list)) {
    throw new EditError("Items of lists in brackets are moved in the text.");
  }
  return list as List;
}

/** Give the lines of an item, moved to the left edge. */
function writtenLines(text: string, list: List, index: number): string[] {
  const mark = dashes(list)[index] ?? 0;
  const end = lineEnd(text, contentEnd(text, list.items[index] as ParsedNode));
  const column = columnOf(text, mark);
  const [first = "", ...rest] = text.slice(mark, end).split("\n");
  return [first, ...rest.map((line) => (line.slice(0, column).trim() === "" ? line.slice(column) : line))];
}
