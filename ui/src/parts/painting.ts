/** Painting large graphs on a canvas: all edges, and from afar all boxes, in a few milliseconds. */
import type { Frame, Places, Size, Viewport } from "./culling";
import type { Arc, Point } from "./layered";

export interface Painted {
  places: Places;
  size: Size;
  arcs: readonly Arc[];
  /** The colour of each box, as a CSS value that may be `var(…)`. */
  colors: ReadonlyMap<string, string>;
  /** Whether arrows go down, and not to the right. */
  down: boolean;
}

/** Fit a canvas to its element and the screen; gives what to draw on, in pixels of CSS. */
export function prepared(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/** Look up a colour: canvases know nothing of variables. */
export function resolved(element: Element, color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name ? getComputedStyle(element).getPropertyValue(name).trim() || "#888" : color;
}

/** Paint the edges that begin or end in the frame; those that only pass by would hide everything. */
export function paintArcs(context: CanvasRenderingContext2D, { places, size, arcs, down }: Painted, view: Viewport, frame: Frame): void {
  const { x, y, zoom } = view;
  context.beginPath();
  for (const { source, target } of arcs) {
    const from = places.get(source);
    const to = places.get(target);
    if (!from || !to) continue;
    if (!isInside(from, size, frame) && !isInside(to, size, frame)) continue;
    const [ax, ay] = down ? [from.x + size.width / 2, from.y + size.height] : [from.x + size.width, from.y + size.height / 2];
    const [bx, by] = down ? [to.x + size.width / 2, to.y] : [to.x, to.y + size.height / 2];
    context.moveTo(ax * zoom + x, ay * zoom + y);
    context.lineTo(bx * zoom + x, by * zoom + y);
  }
  context.stroke();
}

function isInside(at: Point, size: Size, frame: Frame): boolean {
  return at.x <= frame.right && at.y <= frame.bottom && at.x + size.width >= frame.left && at.y + size.height >= frame.top;
}

/** Paint the boxes that are in the frame, none smaller than a dot. */
export function paintBoxes(context: CanvasRenderingContext2D, painted: Painted, view: Viewport, frame: Frame | null): void {
  const { places, size, colors } = painted;
  const { x, y, zoom } = view;
  const width = Math.max(1, size.width * zoom);
  const height = Math.max(1, size.height * zoom);
  let color = "";
  for (const [key, at] of places) {
    if (frame && !isInside(at, size, frame)) continue;
    const wanted = colors.get(key) ?? "";
    if (wanted !== color) {
      color = wanted;
      context.fillStyle = resolvedOnce(context.canvas, color);
    }
    context.fillRect(at.x * zoom + x, at.y * zoom + y, width, height);
  }
}

const known = new Map<string, string>();
let scheme: string | undefined;

/** Asking for a style is slow: colours are looked up once for each theme. */
function resolvedOnce(element: Element, color: string): string {
  const now = document.documentElement.dataset["mantineColorScheme"];
  if (now !== scheme) known.clear();
  scheme = now;
  let found = known.get(color);
  if (found === undefined) known.set(color, (found = resolved(element, color)));
  return found;
}
