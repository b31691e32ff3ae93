/**
 * Which part of a laid-out graph is drawn. Pure.
 *
 * The library that draws handles a few hundred boxes well and ten thousand badly, so it is given only
 * those in and around the window. The window moves in steps, so that a small move changes nothing.
 */
import type { Point } from "./layered";

export interface Frame {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

export interface Size {
  width: number;
  height: number;
}

export type Places = ReadonlyMap<string, Point>;

/** Up to so many boxes everything is drawn. */
export const DRAW_ALL = 300;
/** From further away than this a large graph is painted, not drawn: no word could be read. */
export const FAR = 0.3;
/** So many pixels a click may miss a painted box by. */
export const FINGER = 8;
const STEP = 300;
/** How much around the window is drawn, in parts of it. */
const SPARE = 0.15;

/** Give the part of the graph that is in the window, and a little on every side. */
export function frameOf({ x, y, zoom }: Viewport, width: number, height: number): Frame {
  const down = (value: number) => Math.floor(value / STEP) * STEP;
  const up = (value: number) => Math.ceil(value / STEP) * STEP;
  const spare = { width: (SPARE * width) / zoom, height: (SPARE * height) / zoom };
  return {
    left: down(-x / zoom - spare.width),
    top: down(-y / zoom - spare.height),
    right: up((width - x) / zoom + spare.width),
    bottom: up((height - y) / zoom + spare.height),
  };
}

/** Give the boxes inside of a frame. */
export function inFrame(places: Places, size: Size, frame: Frame): Set<string> {
  const kept = new Set<string>();
  for (const [key, { x, y }] of places) {
    if (x <= frame.right && y <= frame.bottom && x + size.width >= frame.left && y + size.height >= frame.top) kept.add(key);
  }
  return kept;
}

/** Give the box at a point, or the nearest one that is no further away than `slack`. */
export function boxAt(places: Places, size: Size, point: Point, slack = 0): string | undefined {
  let found: string | undefined;
  let least = slack;
  for (const [key, { x, y }] of places) {
    const away = Math.max(x - point.x, point.x - x - size.width, y - point.y, point.y - y - size.height, 0);
    if (away > least || (found !== undefined && away === least)) continue;
    found = key;
    least = away;
    if (away === 0) break;
  }
  return found;
}

export interface Bounds extends Size {
  x: number;
  y: number;
}

/** Give the rectangle around boxes. */
export function boundsOf(places: Places, size: Size, keys: Iterable<string> = places.keys()): Bounds {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const key of keys) {
    const at = places.get(key);
    if (!at) continue;
    left = Math.min(left, at.x);
    top = Math.min(top, at.y);
    right = Math.max(right, at.x + size.width);
    bottom = Math.max(bottom, at.y + size.height);
  }
  if (left > right) return { x: 0, y: 0, ...size };
  return { x: left, y: top, width: right - left, height: bottom - top };
}

const PAD = 40;

/** Give the zoom at which a rectangle fills a window. */
export function fitOf(bounds: Size, window: Size): number {
  return Math.min((window.width - 2 * PAD) / bounds.width, (window.height - 2 * PAD) / bounds.height);
}

interface Limits {
  least: number;
  most: number;
  /** Whether the beginning is at the top, and not at the left. */
  down?: boolean;
}

/** Give a viewport that shows a rectangle in the middle of the window; what does not fit, from its beginning. */
export function viewportOn(bounds: Bounds, window: Size, { least, most, down = false }: Limits): Viewport {
  const fits = fitOf(bounds, window);
  const zoom = Math.min(most, Math.max(least, fits));
  const middle = (from: number, length: number, room: number) => room / 2 - (from + length / 2) * zoom;
  const begin = (from: number, length: number, room: number) =>
    fits >= least || length * zoom + 2 * PAD <= room ? middle(from, length, room) : PAD - from * zoom;
  return {
    x: (down ? middle : begin)(bounds.x, bounds.width, window.width),
    y: (down ? begin : middle)(bounds.y, bounds.height, window.height),
    zoom,
  };
}
