/**
 * The `depends` expression of a task: `a && (b.Succeeded || !c)`.
 *
 * Read into a small tree whose leaves remember where they stand, so that taking one task out or giving
 * it another name leaves the rest of the expression as it was written.
 */
import { EditError } from "./source";

interface Span {
  readonly from: number;
  readonly to: number;
}

type Tree =
  | (Span & { kind: "task"; name: string; nameEnd: number })
  | (Span & { kind: "not"; inner: Tree })
  | (Span & { kind: "group"; inner: Tree })
  | (Span & { kind: "and" | "or"; parts: Tree[] });

const TOKEN = /\s*(&&|\|\||!|\(|\)|[A-Za-z0-9_{}][-A-Za-z0-9_{}]*(?:\.[A-Za-z]+)?)/y;

interface Token extends Span {
  readonly word: string;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim() !== "") {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new EditError(`"${text}" is not understood at "${text.slice(at, at + 12)}"`);
    const word = match[1] ?? "";
    found.push({ word, from: TOKEN.lastIndex - word.length, to: TOKEN.lastIndex });
  }
  return found;
}

function parse(text: string): Tree {
  const list = tokens(text);
  let at = 0;
  const wrong = () => new EditError(`"${text}" is not a whole expression`);

  function chain(kind: "or" | "and", word: string, inner: () => Tree): Tree {
    const parts = [inner()];
    while (list[at]?.word === word) {
      at++;
      parts.push(inner());
    }
    const [first] = parts as [Tree];
    if (parts.length === 1) return first;
    return { kind, parts, from: first.from, to: parts.at(-1)?.to ?? first.to };
  }
  const either = (): Tree => chain("or", "||", both);
  const both = (): Tree => chain("and", "&&", one);
  function one(): Tree {
    const token = list[at++];
    if (!token) throw wrong();
    if (token.word === "!") {
      const inner = one();
      return { kind: "not", inner, from: token.from, to: inner.to };
    }
    if (token.word === "(") {
      const inner = either();
      const end = list[at++];
      if (end?.word !== ")") throw wrong();
      return { kind: "group", inner, from: token.from, to: end.to };
    }
    if (/^(&&|\|\||\))$/.test(token.word)) throw wrong();
    const name = token.word.split(".")[0] ?? "";
    return { kind: "task", name, from: token.from, to: token.to, nameEnd: token.from + name.length };
  }

  const tree = either();
  if (at < list.length) throw wrong();
  return tree;
}

function leaves(tree: Tree): Extract<Tree, { kind: "task" }>[] {
  if (tree.kind === "task") return [tree];
  return "parts" in tree ? tree.parts.flatMap(leaves) : leaves(tree.inner);
}

/** List the tasks that an expression names; nothing for one that cannot be read. */
export function tasksOf(text: string): string[] {
  try {
    return text.trim() === "" ? [] : [...new Set(leaves(parse(text)).map((each) => each.name))];
  } catch (error) {
    if (error instanceof EditError) return [];
    throw error;
  }
}

export function renameTaskIn(text: string, old: string, name: string): string {
  const spans = leaves(parse(text)).filter((each) => each.name === old);
  return spans.reduceRight(
    (made, { from, nameEnd }) => made.slice(0, from) + name + made.slice(nameEnd),
    text,
  );
}

export function addTaskTo(text: string, name: string): string {
  if (text.trim() === "") return name;
  if (tasksOf(text).includes(name)) return text;
  return parse(text).kind === "or" ? `(${text.trim()}) && ${name}` : `${text.trimEnd()} && ${name}`;
}

/** Take a task out of an expression; "" if nothing is left. */
export function removeTaskFrom(text: string, name: string): string {
  return pruned(parse(text), text, name) ?? "";
}

function pruned(tree: Tree, text: string, name: string): string | undefined {
  const asWritten = text.slice(tree.from, tree.to);
  if (!leaves(tree).some((each) => each.name === name)) return asWritten;
  switch (tree.kind) {
    case "task":
      return undefined;
    case "not":
    case "group": {
      const inner = pruned(tree.inner, text, name);
      if (inner === undefined) return undefined;
      if (tree.kind === "not") return `!${inner}`;
      return tasksOf(inner).length > 1 ? `(${inner})` : inner;
    }
    default: {
      const kept = tree.parts.map((each) => pruned(each, text, name)).filter((each) => each !== undefined);
      if (kept.length === 0) return undefined;
      return kept.join(tree.kind === "and" ? " && " : " || ");
    }
  }
}
