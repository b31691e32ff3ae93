/** Positions of a graph: by elk in a worker, or by our own quick way where there are too many. */
import { layered, type Arc, type Box, type Direction, type Point } from "./layered";
import type { LayoutAnswer, LayoutRequest } from "./layout.worker";

/** So many boxes and edges elk lays out within a second or so. */
const MANY_BOXES = 400;
const MANY_ARCS = 1200;

/** Whoever waits longer than this for elk sees the quick way first. */
const PATIENCE = 500;

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (points: [string, Point][] | null) => void>();

/** Lay a graph out; edges to boxes that are not there are left out. */
export async function layoutGraph(boxes: Box[], arcs: Arc[], direction: Direction): Promise<Map<string, Point>> {
  const held = between(boxes, arcs);
  if (boxes.length > MANY_BOXES || held.length > MANY_ARCS) return layered(boxes, held, direction);
  const points = await ask({ number: (last += 1), boxes, arcs: held, direction });
  return points ? new Map(points) : layered(boxes, held, direction);
}

/** Lay a graph out and tell each result; a quick one comes first where elk takes its time. */
export function layoutSoon(
  boxes: Box[],
  arcs: Arc[],
  direction: Direction,
  onPoints: (points: Map<string, Point>) => void,
): () => void {
  let stopped = false;
  const timer = setTimeout(() => onPoints(layered(boxes, between(boxes, arcs), direction)), PATIENCE);
  void layoutGraph(boxes, arcs, direction).then((points) => {
    clearTimeout(timer);
    if (!stopped) onPoints(points);
  });
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

function between(boxes: readonly Box[], arcs: readonly Arc[]): Arc[] {
  const known = new Set(boxes.map((box) => box.id));
  return arcs.filter((arc) => known.has(arc.source) && known.has(arc.target));
}

function ask(request: LayoutRequest): Promise<[string, Point][] | null> {
  worker ??= start();
  return new Promise((resolve) => {
    waiting.set(request.number, resolve);
    worker!.postMessage(request);
  });
}

function start(): Worker {
  const made = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  made.addEventListener("message", (event: MessageEvent<LayoutAnswer>) => {
    waiting.get(event.data.number)?.(event.data.points);
    waiting.delete(event.data.number);
  });
  made.addEventListener("error", () => {
    // Whatever was asked is answered by the quick way.
    for (const answer of waiting.values()) answer(null);
    waiting.clear();
  });
  return made;
}
