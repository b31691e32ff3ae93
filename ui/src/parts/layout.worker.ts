/** Runs elk away from the page, so that a large layout never holds up a click. */
import ELK, { type ElkNode } from "elkjs/lib/elk.bundled.js";

import type { Arc, Box, Direction, Point } from "./layered";

export interface LayoutRequest {
  number: number;
  boxes: Box[];
  arcs: Arc[];
  direction: Direction;
}

export interface LayoutAnswer {
  number: number;
  points: [string, Point][] | null;
}

const elk = new ELK();

function asked({ boxes, arcs, direction }: LayoutRequest): ElkNode {
  return {
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": direction,
      "elk.spacing.nodeNode": "24",
      "elk.layered.spacing.nodeNodeBetweenLayers": "64",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.nodePlacement.strategy": boxes.length > 200 ? "SIMPLE" : "NETWORK_SIMPLEX",
      "elk.separateConnectedComponents": "true",
    },
    children: boxes.map(({ id, width, height }) => ({ id, width, height })),
    edges: arcs.map(({ source, target }, index) => ({ id: `e${index}`, sources: [source], targets: [target] })),
  };
}

self.addEventListener("message", (event: MessageEvent<LayoutRequest>) => {
  const { number } = event.data;
  elk.layout(asked(event.data)).then(
    (done) => {
      const points = (done.children ?? []).map(
        (each): [string, Point] => [each.id, { x: each.x ?? 0, y: each.y ?? 0 }],
      );
      self.postMessage({ number, points } satisfies LayoutAnswer);
    },
    () => self.postMessage({ number, points: null } satisfies LayoutAnswer),
  );
});
