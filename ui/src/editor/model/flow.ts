/** Maps and lists in brackets: put something in, take something out. */
import type { ParsedNode, YAMLSeq } from "yaml";
import { scalarText } from "./emit";
import { contentEnd, entryEnd } from "./place";
import type { Block, Draft, Entry } from "./source";

type List = YAMLSeq<ParsedNode>;

/** Tell whether a flow collection is written as JSON is. */
export function isJson(text: string, node: Block | List): boolean {
  return /^[[{]\s*"/.test(text.slice(node.range?.[0] ?? 0).slice(0, 200));
}

export function flowKey(text: string, map: Block, key: string): string {
  return scalarText(key, true, isJson(text, map) ? "double" : "plain");
}

export function insertFlow(draft: Draft, node: Block | List, piece: string, index = node.items.length): void {
  const { text } = draft;
  const next: unknown = node.items[index];
  const last: unknown = node.items.at(-1);
  if (next) {
    const from = startOf(next as Entry | ParsedNode);
    draft.change({ from, to: from, insert: `${piece}, ` });
    return;
  }
  const inside = (node.range?.[0] ?? 0) + 1;
  const from = last ? endOf(text, last as Entry | ParsedNode) : inside;
  draft.change({ from, to: from, insert: last ? `, ${piece}` : piece });
}

function startOf(item: Entry | ParsedNode): number {
  return "key" in item ? item.key.range[0] : item.range[0];
}

function endOf(text: string, item: Entry | ParsedNode): number {
  return "key" in item ? entryEnd(text, item) : contentEnd(text, item);
}

export function removeFlow(draft: Draft, node: Block | List, index: number): void {
  const { text } = draft;
  const items = node.items as (Entry | ParsedNode)[];
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  if (!item) return;
  if (before) draft.change({ from: endOf(text, before), to: endOf(text, item), insert: "" });
  else draft.change({ from: startOf(item), to: after ? startOf(after) : endOf(text, item), insert: "" });
}
