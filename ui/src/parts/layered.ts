/**
 * Positions for graphs that are too large for a good layout: layers by longest path, one sweep of
 * barycentres. Pure, and linear in nodes and edges but for sorting.
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

/** Give each box its place. */
export function layered(boxes: readonly Box[], arcs: readonly Arc[], direction: Direction): Map<string, Point> {
  const order = ranks(boxes, arcs);
  const layers = sorted(boxes, arcs, order);
  const found = new Map<string, Point>();
  let along = 0;
  for (const layer of layers) {
    let across = 0;
    let depth = 0;
    for (const box of layer) {
      found.set(box.id, direction === "RIGHT" ? { x: along, y: across } : { x: across, y: along });
      across += (direction === "RIGHT" ? box.height : box.width) + GAP;
      depth = Math.max(depth, direction === "RIGHT" ? box.width : box.height);
    }
    centre(layer, found, across, direction);
    along += depth + LAYER_GAP;
  }
  return found;
}

function centre(layer: readonly Box[], found: Map<string, Point>, across: number, direction: Direction): void {
  for (const box of layer) {
    const point = found.get(box.id)!;
    if (direction === "RIGHT") point.y -= across / 2;
    else point.x -= across / 2;
  }
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
