/**
 * Colours in logs: text with escape sequences to plain pieces with a style. Pure.
 *
 * Only colours and weight are taken over; every other sequence (cursor, titles, links) is dropped.
 * What comes out is text, never markup.
 */
export interface Piece {
  text: string;
  /** 0–15, or a CSS colour of the larger palettes. */
  color?: number | string;
  background?: number | string;
  bold?: boolean;
  faint?: boolean;
  underline?: boolean;
}

type Style = Omit<Piece, "text">;

// CSI …, OSC … (ended by BEL or ST), and two-character escapes.
// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_a-z0-9=>])/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Cut a line into pieces. */
export function pieces(line: string): Piece[] {
  if (!line.includes("\u001b")) return [{ text: clean(line) }];
  const found: Piece[] = [];
  let style: Style = {};
  let at = 0;
  for (const match of line.matchAll(ESCAPE)) {
    push(found, line.slice(at, match.index), style);
    at = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, match[1] ?? "");
  }
  push(found, line.slice(at), style);
  return found;
}

/** Give the text alone. */
export function plain(line: string): string {
  return line.includes("\u001b") ? clean(line.replace(ESCAPE, "")) : clean(line);
}

/** A carriage return begins the line anew, as on a terminal; other control characters vanish. */
function clean(text: string): string {
  const trimmed = text.endsWith("\r") ? text.slice(0, -1) : text;
  return trimmed.slice(trimmed.lastIndexOf("\r") + 1).replace(CONTROL, "");
}

function push(found: Piece[], text: string, style: Style): void {
  const cleaned = clean(text);
  if (cleaned) found.push({ text: cleaned, ...style });
}

function styled(before: Style, codes: string): Style {
  let style = { ...before };
  const numbers = codes.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at]!;
    if (code === 38 || code === 48) {
      const [color, used] = wide(numbers.slice(at + 1));
      if (code === 38) style.color = color;
      else style.background = color;
      at += used;
    } else style = simple(style, code);
  }
  return style;
}

function simple(style: Style, code: number): Style {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, faint: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: undefined, faint: undefined };
  if (code === 24) return { ...style, underline: undefined };
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  if (code === 39) return { ...style, color: undefined };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code === 49) return { ...style, background: undefined };
  if (code >= 90 && code <= 97) return { ...style, color: code - 82 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return style;
}

/** Read `5;n` or `2;r;g;b`; tells how many numbers were used. */
function wide(numbers: readonly number[]): [number | string | undefined, number] {
  const [kind, a = 0, b = 0, c = 0] = numbers;
  const byte = (value: number) => Math.min(255, Math.max(0, Math.trunc(value) || 0));
  if (kind === 2) return [`rgb(${byte(a)} ${byte(b)} ${byte(c)})`, 4];
  if (kind !== 5) return [undefined, 1];
  const index = byte(a);
  if (index < 16) return [index, 2];
  if (index >= 232) return [`rgb(${grey(index)} ${grey(index)} ${grey(index)})`, 2];
  const cube = index - 16;
  const part = (value: number) => (value ? 55 + value * 40 : 0);
  return [`rgb(${part(Math.floor(cube / 36))} ${part(Math.floor(cube / 6) % 6)} ${part(cube % 6)})`, 2];
}

function grey(index: number): number {
  return 8 + (index - 232) * 10;
}
