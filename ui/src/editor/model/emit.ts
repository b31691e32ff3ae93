/**
 * Writes new pieces of YAML: the values that an edit puts into a text, in the style of that text.
 *
 * Only what is new is written here. Words that YAML 1.1 readers take for something else (yes, on, 012)
 * are quoted, since clusters read workflows with such a reader.
 */
import { parseDocument } from "yaml";

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

export interface Style {
  /** How far a list stands in from the key it belongs to: 0 or 2. */
  readonly listIndent: number;
}

export type Quote = "plain" | "single" | "double";

const WORDS = /^(y|n|yes|no|on|off|true|false|null|~)$/i;
const NUMBERS = /^[-+]?[.\d][\d_.:eExXoabcdfABCDF+-]*$/;
const INDICATORS = /^[{}[\]&*!|>'"%@`#,?]/;
const WIDE = 72;

export function isScalarValue(value: Value): value is string | number | boolean | null {
  return value === null || typeof value !== "object";
}

/** Write a scalar on one line. */
export function scalarText(value: Value, flow: boolean, quote: Quote = "plain"): string {
  if (typeof value !== "string") return value === null ? "null" : String(value);
  if (quote === "single" && !/[\n\r\t\u0000-\u001f]/.test(value)) {
    return `'${value.replaceAll("'", "''")}'`;
  }
  if (quote === "plain" && isPlain(value, flow)) return value;
  return JSON.stringify(value).replaceAll("\u0085", "\\N").replaceAll("\u2028", "\\L");
}

function isPlain(value: string, flow: boolean): boolean {
  if (value === "" || value !== value.trim() || /[\n\r\t]/.test(value)) return false;
  if (INDICATORS.test(value) || WORDS.test(value) || NUMBERS.test(value)) return false;
  const read = parseDocument(flow ? `[${value}]` : `k: ${value}`);
  if (read.errors.length > 0 || read.warnings.length > 0) return false;
  const found: unknown = flow ? read.toJS()?.[0] : read.toJS()?.k;
  return found === value && (!flow || (read.toJS() as unknown[]).length === 1);
}

/** Tell whether a string can stand as a literal block (`|`) and come back the same. */
export function fitsLiteral(value: string): boolean {
  if (!value.includes("\n") || value.endsWith("\n\n") || /[\r\u0000-\u0008\u0085\u2028\ufeff]/.test(value)) {
    return false;
  }
  const lines = value.replace(/\n$/, "").split("\n");
  const first = lines.find((line) => line !== "");
  const last = lines.at(-1) ?? "";
  return first !== undefined && !/^[ \t]/.test(first) && last.trim() !== "";
}

/** Give the header of a literal block and its lines, not yet indented. */
export function literalLines(value: string): string[] {
  const keeps = value.endsWith("\n");
  return [keeps ? "|" : "|-", ...value.replace(/\n$/, "").split("\n")];
}

export function flowText(value: Value, json = false): string {
  if (isScalarValue(value)) return scalarText(value, true, json ? "double" : "plain");
  if (Array.isArray(value)) return `[${value.map((each) => flowText(each, json)).join(", ")}]`;
  const pairs = Object.entries(value).map(
    ([key, each]) => `${scalarText(key, true, json ? "double" : "plain")}: ${flowText(each, json)}`,
  );
  return `{${pairs.join(", ")}}`;
}

/** Write a value as lines without indentation: what stands under a key or behind a dash. */
export function blockLines(value: Value, style: Style): string[] {
  if (isScalarValue(value)) {
    if (typeof value === "string" && fitsLiteral(value)) {
      const [header = "|", ...rest] = literalLines(value);
      return [header, ...indented(rest, 2)];
    }
    return [scalarText(value, false)];
  }
  if (Array.isArray(value)) {
    if (isShort(value)) return [flowText(value)];
    return value.flatMap((each) => itemLines(each, style));
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return ["{}"];
  return entries.flatMap(([key, each]) => pairLines(key, each, style));
}

export function itemLines(value: Value, style: Style): string[] {
  const [first = "", ...rest] = blockLines(value, style);
  return [`- ${first}`, ...indented(rest, 2)];
}

export function pairLines(key: string, value: Value, style: Style): string[] {
  const name = scalarText(key, false);
  if (isScalarValue(value) || isInline(value)) {
    const [first = "", ...rest] = blockLines(value, style);
    return [`${name}: ${first}`, ...rest];
  }
  const indent = Array.isArray(value) ? style.listIndent : 2;
  return [`${name}:`, ...indented(blockLines(value, style), indent)];
}

function isInline(value: Value): boolean {
  if (Array.isArray(value)) return isShort(value);
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function isShort(values: readonly Value[]): boolean {
  const simple = values.every((each) => isScalarValue(each) && !String(each).includes("\n"));
  return simple && flowText([...values]).length <= WIDE;
}

/** Move lines in; empty ones stay empty. */
export function indented(lines: readonly string[], by: number): string[] {
  const pad = " ".repeat(by);
  return lines.map((line) => (line === "" ? "" : pad + line));
}
