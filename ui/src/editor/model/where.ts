/**
 * Where the cursor is in a YAML text that may be half typed: under which keys, at a key or a value.
 *
 * By lines and indentation alone, since a text that is being typed seldom parses.
 */

export interface Spot {
  /** The keys from the top of the document down; lists leave no mark. */
  readonly keys: readonly string[];
  /** At a value: the key it belongs to. */
  readonly key: string | undefined;
  /** What is typed of the word so far, and where it begins. */
  readonly word: string;
  readonly from: number;
  readonly kind: string;
}

const LINE = /^( *)((?:- +|-$)*)(?:(["']?)([^\s"'#:][^"'#:]*)\3\s*:(?=\s|$))?/;

interface Line {
  readonly indent: number;
  readonly dashed: boolean;
  readonly column: number;
  readonly key: string | undefined;
}

function readLine(text: string): Line {
  const [, pad = "", dash = "", , key] = LINE.exec(text) ?? [];
  return { indent: pad.length, dashed: dash !== "", column: pad.length + dash.length, key };
}

export function spotAt(text: string, offset: number): Spot {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const typed = text.slice(start, offset);
  const line = readLine(typed);
  const rest = line.key === undefined ? typed.slice(line.column) : typed.slice(typed.indexOf(":", line.column) + 1);
  const word = /[^\s,[\]{}"']*$/.exec(rest)?.[0] ?? "";
  const [head, kind] = documentOf(text, start);
  const keys = parents(head, line);
  if (line.key !== undefined) return { keys, key: line.key, word, from: offset - word.length, kind };
  // An item of a list, or the rest of a value that goes over several lines.
  return { keys, key: undefined, word: rest.trimStart(), from: offset - rest.trimStart().length, kind };
}

/** Give the lines of the document above `start`, and the kind of the document. */
function documentOf(text: string, start: number): [string[], string] {
  const above = text.slice(0, start).split("\n").slice(0, -1);
  const begin = above.lastIndexOf("---") + 1;
  const below = text.slice(start).split("\n");
  const end = below.indexOf("---");
  const whole = [...above.slice(begin), ...(end === -1 ? below : below.slice(0, end))];
  const kind = whole.map((line) => /^kind:\s*["']?(\w+)/.exec(line)?.[1]).find(Boolean) ?? "";
  return [above.slice(begin), kind];
}

function parents(above: readonly string[], current: Line): string[] {
  const keys: string[] = [];
  let limit = current.dashed ? current.indent : current.column;
  // A list may stand in the same column as the key it belongs to.
  let inList = current.dashed;
  for (let index = above.length - 1; index >= 0 && (limit > 0 || inList); index--) {
    const written = above[index] ?? "";
    if (written.trim() === "" || written.trimStart().startsWith("#")) continue;
    const line = readLine(written);
    const isOwner = line.column < limit || (inList && line.column === limit && !line.dashed);
    if (isOwner && line.key !== undefined) {
      keys.unshift(line.key);
      limit = line.dashed ? line.indent : line.column;
      inList = line.dashed;
    } else if (line.dashed && line.column === limit && !inList) {
      limit = line.indent;
      inList = true;
    }
  }
  return keys;
}
