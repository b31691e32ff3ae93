/**
 * A text with YAML documents in it, and changes of that text.
 *
 * The text is the truth: documents are only read from it, and nothing here ever writes one out again.
 * An edit is a list of steps; each step is a set of changes that do not touch each other, told in
 * offsets of the text before that step. What lies outside of them stays byte for byte.
 */
import { LineCounter, isMap, isPair, isScalar, isSeq, parseAllDocuments } from "yaml";
import type { Document, Pair, ParsedNode, YAMLMap } from "yaml";

export interface Change {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

export interface Edit {
  readonly text: string;
  readonly steps: readonly (readonly Change[])[];
}

export interface Mistake {
  readonly message: string;
  readonly from: number;
  readonly to: number;
}

export interface Source {
  readonly text: string;
  readonly documents: readonly Document.Parsed[];
  readonly mistakes: readonly Mistake[];
}

export type Path = readonly (string | number)[];
export type Block = YAMLMap<ParsedNode, ParsedNode | null>;
export type Entry = Pair<ParsedNode, ParsedNode | null>;

/** An edit that cannot be made; the message is for people. */
export class EditError extends Error {}

export function readSource(text: string): Source {
  const lines = new LineCounter();
  const read = parseAllDocuments(text, {
    keepSourceTokens: true,
    lineCounter: lines,
    merge: true,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const documents = Array.isArray(read) ? read : [];
  const mistakes = documents.flatMap((each) =>
    each.errors.map(({ message, pos }) => ({ message, from: pos[0], to: Math.max(pos[1], pos[0]) })),
  );
  return { text, documents: documents as Document.Parsed[], mistakes };
}

/** Make one step's changes. */
export function applyChanges(text: string, changes: readonly Change[]): string {
  const sorted = [...changes].sort((a, b) => a.from - b.from || a.to - b.to);
  let made = "";
  let at = 0;
  for (const { from, to, insert } of sorted) {
    if (from < at || to < from) throw new EditError("changes overlap");
    made += text.slice(at, from) + insert;
    at = to;
  }
  return made + text.slice(at);
}

/** A text that is changed step by step, and read again after each of them. */
export class Draft {
  readonly steps: (readonly Change[])[] = [];
  #source: Source;

  constructor(source: Source) {
    if (source.mistakes.length > 0) {
      throw new EditError("The text cannot be read as YAML; mend it first.");
    }
    this.#source = source;
  }

  get source(): Source {
    return this.#source;
  }

  get text(): string {
    return this.#source.text;
  }

  change(...changes: Change[]): void {
    const real = changes.filter(({ from, to, insert }) => this.text.slice(from, to) !== insert);
    if (real.length === 0) return;
    const next = readSource(applyChanges(this.text, real));
    const [mistake] = next.mistakes;
    if (mistake) throw new EditError(`This would break the text: ${mistake.message}`);
    this.#source = next;
    this.steps.push(real);
  }

  edit(): Edit {
    return { text: this.text, steps: this.steps };
  }

  document(index: number): Document.Parsed {
    const found = this.#source.documents[index];
    if (!found) throw new EditError("There is no such document.");
    return found;
  }

  /** Give the node at `path`, as it stands in the text; undefined where there is none. */
  at(index: number, path: Path): ParsedNode | null | undefined {
    return nodeAt(this.document(index).contents, path);
  }
}

export function nodeAt(
  root: ParsedNode | null | undefined,
  path: Path,
): ParsedNode | null | undefined {
  let node: ParsedNode | null | undefined = root;
  for (const key of path) {
    if (isMap(node)) node = entryOf(node as Block, String(key))?.value;
    else if (isSeq(node) && typeof key === "number") node = node.items[key] as ParsedNode;
    else return undefined;
  }
  return node;
}

export function entryOf(map: Block, key: string): Entry | undefined {
  return map.items.find(
    (each) => isPair(each) && isScalar(each.key) && String(each.key.value) === key,
  );
}

/** Give the line (from 0) of an offset. */
export function lineOf(text: string, offset: number): number {
  let line = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
