/** Writes a scalar, or lines of a block, where something stands already. */
import { isScalar } from "yaml";
import type { ParsedNode } from "yaml";
import { type Quote, type Value, fitsLiteral, indented, literalLines, scalarText } from "./emit";
import { contentEnd, lineEnd } from "./place";
import type { Draft } from "./source";

/** Write lines where something stood. A comment behind it goes to the end of the first of them. */
export function replaceWithLines(draft: Draft, from: number, to: number, lines: readonly string[]): void {
  const { text } = draft;
  const [first = "", ...rest] = lines;
  const note = rest.length > 0 ? (/^[ \t]+#.*/.exec(text.slice(to, lineEnd(text, to)))?.[0] ?? "") : "";
  draft.change({ from, to: to + note.length, insert: [first + note, ...rest].join("\n") });
}

/** Write a scalar in the manner of the one it replaces. */
export function replaceScalar(
  draft: Draft,
  node: ParsedNode,
  value: Value,
  flow: boolean,
  column: number,
): void {
  const { text } = draft;
  const [from] = node.range;
  const literal = isScalar(node) && (node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED");
  if (!flow && typeof value === "string" && fitsLiteral(value)) {
    const indent = literal ? literalColumn(text, node, column + 2) : column + 2;
    const [header = "|", ...lines] = literalLines(value);
    const note = literal ? headerNote(text, from) : "";
    const end = literal ? trimmedEnd(text, node) : contentEnd(text, node);
    replaceWithLines(draft, from, end, [header + note, ...indented(lines, indent)]);
    return;
  }
  const insert = scalarText(value, flow, literal ? "plain" : quoteOf(node));
  draft.change({ from, to: literal ? trimmedEnd(text, node) : contentEnd(text, node), insert });
}

function headerNote(text: string, from: number): string {
  return /^[^#\n]*?(\s+#.*)/.exec(text.slice(from, lineEnd(text, from)))?.[1] ?? "";
}

function literalColumn(text: string, node: ParsedNode, otherwise: number): number {
  const body = text.slice(lineEnd(text, node.range[0]) + 1, node.range[1]);
  const first = body.split("\n").find((line) => line.trim() !== "");
  const header = text.slice(node.range[0], lineEnd(text, node.range[0]));
  // With an indentation indicator the first line may stand further in than the block does.
  if (first === undefined || /[|>][-+]?\d/.test(header)) return otherwise;
  return first.length - first.trimStart().length;
}

function trimmedEnd(text: string, node: ParsedNode): number {
  const whole = text.slice(node.range[0], node.range[1]);
  return node.range[0] + whole.trimEnd().length;
}

export function quoteOf(node: ParsedNode): Quote {
  if (!isScalar(node)) return "plain";
  if (node.type === "QUOTE_DOUBLE") return "double";
  return node.type === "QUOTE_SINGLE" ? "single" : "plain";
}
