/** Where things stand in a text: lines, columns and the ends of nodes without what trails them. */
import { isAlias, isMap, isPair, isScalar, isSeq } from "yaml";
import type { ParsedNode, YAMLSeq } from "yaml";
import { EditError, type Block, type Entry } from "./source";

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

export function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found;
}

export function columnOf(text: string, at: number): number {
  return at - lineStart(text, at);
}

export function isFlow(node: unknown): boolean {
  return (isMap(node) || isSeq(node)) && node.flow === true;
}

/** Tell whether a value is nothing at all, as after `dag:` at the end of a line. */
export function isBlank(node: ParsedNode | null | undefined): boolean {
  return !node || (isScalar(node) && node.value === null && node.range[0] === node.range[1]);
}

/** Give the offset where the words of a node end: no comment, no blank line behind them. */
export function contentEnd(text: string, node: ParsedNode): number {
  if (isAlias(node) || isFlow(node)) return node.range[1];
  if (isScalar(node)) {
    const literal = node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED";
    return literal ? literalEnd(text, node.range[0], node.range[1]) : node.range[1];
  }
  const last: unknown = node.items.at(-1);
  if (isPair(last)) return entryEnd(text, last as Entry);
  return last ? contentEnd(text, last as ParsedNode) : node.range[1];
}

export function entryEnd(text: string, entry: Entry): number {
  if (!entry.value || isBlank(entry.value)) return colonEnd(text, entry);
  return contentEnd(text, entry.value);
}

/** Give the offset behind the colon of an entry. */
export function colonEnd(text: string, entry: Entry): number {
  const end = entry.key.range[1];
  const found = /^\s*:/.exec(text.slice(end, end + 80));
  return found ? end + found[0].length : end;
}

function literalEnd(text: string, from: number, to: number): number {
  const headerEnd = Math.min(lineEnd(text, from), to);
  if (/\+/.test(text.slice(from, headerEnd).split("#")[0] ?? "")) return to;
  const indent = contentColumn(text.slice(headerEnd + 1, to));
  let end = to;
  while (end > headerEnd) {
    const start = lineStart(text, end);
    const line = text.slice(start, end);
    if (line.trim() !== "" || line.length > indent) return end;
    end = start - 1;
  }
  return headerEnd;
}

function contentColumn(lines: string): number {
  const first = lines.split("\n").find((line) => line.trim() !== "");
  return first === undefined ? Number.MAX_SAFE_INTEGER : first.length - first.trimStart().length;
}

/** Give the offsets of the dashes of a block list. */
export function dashes(list: YAMLSeq): number[] {
  const token = list.srcToken;
  if (token?.type !== "block-seq") throw new EditError("This list cannot be edited here.");
  return token.items.flatMap(({ start }) =>
    start.filter((each) => each.type === "seq-item-ind").map((each) => each.offset),
  );
}

/** Give the column of a block map's keys. */
export function keyColumn(text: string, map: Block): number {
  const first = map.items[0];
  if (!first) throw new EditError("This map cannot be edited here.");
  return columnOf(text, first.key.range[0]);
}
