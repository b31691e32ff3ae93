/** Names inside of `{{…}}` and of bare expressions: find them, and give them another name. */

const TAG = /\{\{[\s\S]*?\}\}/g;
/** Keys whose whole value is an expression. */
const EXPRESSIONS = new Set(["expression", "fromExpression"]);

export interface Place {
  readonly from: number;
  readonly to: number;
}

/** Find `tasks.NAME` and `tasks['NAME']` (or `steps…`) in the tags of a text. */
export function referencesIn(text: string, scope: "tasks" | "steps", name: string): Place[] {
  return [...text.matchAll(TAG)].flatMap((tag) => inExpression(tag[0], scope, name, tag.index));
}

/** Find the same in an expression without braces. */
export function inExpression(text: string, scope: string, name: string, offset = 0): Place[] {
  const quoted = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const dotted = new RegExp(`(?<![\\w.-])${scope}\\.(${quoted})(?![\\w-])`, "g");
  const indexed = new RegExp(`(?<![\\w.-])${scope}\\[(['"])(${quoted})\\1\\]`, "g");
  const found = [
    ...[...text.matchAll(dotted)].map((match) => match.index + scope.length + 1),
    ...[...text.matchAll(indexed)].map((match) => match.index + scope.length + 2),
  ];
  return found.map((at) => ({ from: offset + at, to: offset + at + name.length }));
}

export function isExpressionKey(key: string): boolean {
  return EXPRESSIONS.has(key);
}
