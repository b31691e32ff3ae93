/**
 * Which part of a laid-out graph is drawn. Pure.
 *
 * The library that draws handles a few hundred boxes well and ten thousand badly, so it is given only
 * those in and around the window. The window moves in steps, so that a small move changes nothing.
 */
import type { Point } from "../parts/layered";
import type { View } from "./unit";
import { HEIGHT, WIDTH } from "./unit";

export interface Frame {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

/** Up to so many boxes everything is drawn. */
export const DRAW_ALL = 300;
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

/** Keep the boxes inside of a frame, and the edges between them. */
export function inFrame(view: View, places: ReadonlyMap<string, Point>, frame: Frame): View {
  const kept = new Set<string>();
  const units = view.units.filter(({ key }) => {
    const at = places.get(key);
    if (!at || at.x > frame.right || at.y > frame.bottom) return false;
    if (at.x + WIDTH < frame.left || at.y + HEIGHT < frame.top) return false;
    kept.add(key);
    return true;
  });
  return { units, edges: view.edges.filter(({ source, target }) => kept.has(source) && kept.has(target)) };
}

/** Give the rectangle around boxes. */
export function boundsOf(places: ReadonlyMap<string, Point>, keys?: Iterable<string>) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const key of keys ?? places.keys()) {
    const at = places.get(key);
    if (!at) continue;
    left = Math.min(left, at.x);
    top = Math.min(top, at.y);
    right = Math.max(right, at.x + WIDTH);
    bottom = Math.max(bottom, at.y + HEIGHT);
  }
  if (left > right) return { x: 0, y: 0, width: WIDTH, height: HEIGHT };
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Give a viewport that shows a rectangle in the middle of the window. */
export function viewportOn(
  bounds: { x: number; y: number; width: number; height: number },
  window: { width: number; height: number },
  limits: { least: number; most: number },
): Viewport {
  const pad = 40;
  const fits = Math.min((window.width - 2 * pad) / bounds.width, (window.height - 2 * pad) / bounds.height);
  const zoom = Math.min(limits.most, Math.max(limits.least, fits));
  // What does not fit is shown from its beginning.
  const offset = (from: number, length: number, room: number) =>
    length * zoom + 2 * pad <= room || fits >= limits.least ? room / 2 - (from + length / 2) * zoom : pad - from * zoom;
  return {
    x: offset(bounds.x, bounds.width, window.width),
    y: room(bounds, window.height, zoom),
    zoom,
  };
}

function room(bounds: { y: number; height: number }, height: number, zoom: number): number {
  return height / 2 - (bounds.y + bounds.height / 2) * zoom;
}
