/** How a text is written, so that what is added looks like the rest of it. */
import { isMap, isPair, isSeq } from "yaml";
import type { Document, Node } from "yaml";
import type { Style } from "./emit";

export function styleOf(documents: readonly Document.Parsed[]): Style {
  for (const document of documents) {
    const found = listIndent(document.contents);
    if (found !== undefined) return { listIndent: found };
  }
  return { listIndent: 2 };
}

/** Find the first block list under a key, and how far it stands in from that key. */
function listIndent(node: Node | null): number | undefined {
  if (isMap(node) && !node.flow) {
    const column = node.srcToken?.type === "block-map" ? node.srcToken.indent : 0;
    for (const entry of node.items) {
      const value = entry.value as Node | null;
      if (isSeq(value) && !value.flow && value.srcToken?.type === "block-seq") {
        return value.srcToken.indent > column ? 2 : 0;
      }
      const inside = listIndent(value);
      if (inside !== undefined) return inside;
    }
  }
  if (isSeq(node) && !node.flow) {
    for (const item of node.items) {
      const inside = isPair(item) ? undefined : listIndent(item as Node);
      if (inside !== undefined) return inside;
    }
  }
  return undefined;
}
