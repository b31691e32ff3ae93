/**
 * Positions for graphs that are too large for a good layout: layers by longest path, one sweep of
 * barycentres. Layers that are far too long are folded, so that the whole has the shape of a window
 * and can be seen at once. Pure, and linear in nodes and edges but for sorting.
 */
export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Arc {
  source: string;
  target: string;
}

export interface Point {
  x: number;
  y: number;
}

export type Direction = "RIGHT" | "DOWN";

const GAP = 24;
const LAYER_GAP = 72;

/** So much longer than high a window is. */
const SHAPE = 1.6;
/** Layers of up to so many boxes are never folded. */
const SHORT = 60;

/** Give each box its place. */
export function layered(boxes: readonly Box[], arcs: readonly Arc[], direction: Direction): Map<string, Point> {
  const right = direction === "RIGHT";
  const long = (box: Box) => (right ? box.width : box.height);
  const wide = (box: Box) => (right ? box.height : box.width);
  const found = new Map<string, Point>();
  const most = longest(boxes, long, wide, right ? SHAPE : 1 / SHAPE);
  let along = 0;
  for (const layer of sorted(boxes, arcs, ranks(boxes, arcs))) {
    for (let from = 0; from < layer.length; from += most) {
      const line = layer.slice(from, from + most);
      let across = -line.reduce((sum, box) => sum + wide(box) + GAP, 0) / 2;
      for (const box of line) {
        found.set(box.id, right ? { x: along, y: across } : { x: across, y: along });
        across += wide(box) + GAP;
      }
      along += Math.max(...line.map(long)) + (from + most < layer.length ? GAP : LAYER_GAP);
    }
  }
  return found;
}

/** Give how many boxes may stand in one line, so that all of them together look like a window. */
function longest(boxes: readonly Box[], long: (box: Box) => number, wide: (box: Box) => number, shape: number): number {
  const [box] = boxes;
  if (!box) return SHORT;
  const lines = (wide(box) + GAP) / (long(box) + GAP);
  return Math.max(SHORT, Math.ceil(Math.sqrt(boxes.length / lines / shape)));
}

/** Longest path from a source; what lies on a circle stays where it was first met. */
function ranks(boxes: readonly Box[], arcs: readonly Arc[]): Map<string, number> {
  const incoming = new Map(boxes.map((box) => [box.id, 0]));
  const outgoing = new Map<string, string[]>();
  for (const { source, target } of arcs) {
    if (!incoming.has(source) || !incoming.has(target)) continue;
    incoming.set(target, incoming.get(target)! + 1);
    const list = outgoing.get(source);
    if (list) list.push(target);
    else outgoing.set(source, [target]);
  }
  const found = new Map(boxes.map((box) => [box.id, 0]));
  const ready = boxes.filter((box) => !incoming.get(box.id)).map((box) => box.id);
  for (let at = 0; at < ready.length; at += 1) {
    const id = ready[at]!;
    for (const next of outgoing.get(id) ?? []) {
      found.set(next, Math.max(found.get(next)!, found.get(id)! + 1));
      const left = incoming.get(next)! - 1;
      incoming.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return found;
}

function sorted(boxes: readonly Box[], arcs: readonly Arc[], rank: Map<string, number>): Box[][] {
  const layers: Box[][] = [];
  for (const box of boxes) (layers[rank.get(box.id)!] ??= []).push(box);
  const before = new Map<string, string[]>();
  for (const { source, target } of arcs) {
    const list = before.get(target);
    if (list) list.push(source);
    else before.set(target, [source]);
  }
  const place = new Map<string, number>();
  const present = layers.filter(Boolean);
  for (const layer of present) {
    const weight = new Map(layer.map((box, index) => [box.id, barycentre(before.get(box.id), place, index)]));
    layer.sort((a, b) => weight.get(a.id)! - weight.get(b.id)!);
    layer.forEach((box, index) => place.set(box.id, index));
  }
  return present;
}

function barycentre(parents: readonly string[] | undefined, place: Map<string, number>, otherwise: number): number {
  const known = (parents ?? []).map((id) => place.get(id)).filter((each) => each !== undefined);
  if (!known.length) return otherwise;
  return known.reduce((sum, each) => sum + each, 0) / known.length;
}
