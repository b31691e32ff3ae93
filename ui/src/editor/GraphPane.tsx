/** The drawn side of the editor: boxes that can be added, connected, taken away and chosen. */
import {
  Background,
  type Connection,
  Controls,
  type Edge,
  MarkerType,
  ReactFlow,
  ReactFlowProvider,
  useNodesState,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type DragEvent, type KeyboardEvent, type MouseEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";

import { SmallMap, Terrain } from "../parts/Terrain";
import { DRAW_ALL, FAR, FINGER, type Frame, boundsOf, boxAt, fitOf, frameOf, inFrame, viewportOn } from "../parts/culling";
import { layoutGraph } from "../parts/layout";
import type { Painted } from "../parts/painting";
import { HEIGHT, TaskNode, type TaskNodeType, WIDTH } from "./TaskNode";
import type { Drawing } from "./graph";

const TYPES = { task: TaskNode };
const SIZE = { width: WIDTH, height: HEIGHT };
/** From so many boxes on there is a small map. */
const MAPPED = 25;
const LEAST = 0.1;
export const DRAGGED = "application/x-tiphys-kind";

export interface GraphProps {
  readonly label: string;
  readonly drawing: Drawing;
  /** A new one is laid out and shown as a whole. */
  readonly page: string;
  readonly chosen: string | undefined;
  readonly editable: boolean;
  readonly onChoose: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
  readonly onConnect: (from: string, to: string) => void;
  readonly onDisconnect: (pairs: readonly { source: string; target: string }[]) => void;
  readonly onRemove: (ids: readonly string[]) => void;
  /** A kind was dropped, on a box or beside all of them. */
  readonly onDrop: (what: string, on: string | undefined) => void;
  readonly onUndo: () => void;
  readonly onRedo: () => void;
}

export function GraphPane(props: GraphProps) {
  return (
    // Another template is another graph: nothing of the old one's measures holds.
    <ReactFlowProvider key={props.page}>
      <Graph {...props} />
    </ReactFlowProvider>
  );
}

function Graph(props: GraphProps) {
  const { drawing, page, chosen, editable } = props;
  const { points, settled } = usePoints(drawing, page);
  const large = drawing.boxes.length > DRAW_ALL;
  const drawn = useDrawn(drawing, points, chosen, large);
  const [nodes, onNodesChange] = useBoxes(drawn, points, chosen);
  const [chosenEdge, setChosenEdge] = useState<string>();
  const flow = useReactFlow();
  const wrapper = useRef<HTMLElement>(null);
  const painted = usePainted(drawing, points);
  const [least, setLeast] = useState(LEAST);

  useEffect(() => {
    const { clientWidth: width, clientHeight: height } = wrapper.current ?? { clientWidth: 0, clientHeight: 0 };
    if (points.size === 0 || width === 0) return;
    const bounds = boundsOf(points, SIZE);
    setLeast(Math.min(LEAST, fitOf(bounds, { width, height })));
    // Of a large graph as much as can be read; one can go away from it until all is in view.
    void flow.setViewport(viewportOn(bounds, { width, height }, { least: large ? FAR : LEAST, most: 1, down: true }));
  }, [flow, points]);

  const edges = useMemo(() => edgesOf(drawn, chosenEdge), [drawn, chosenEdge]);

  /** From afar there are no boxes to click on, only dots. */
  function onPane(event: MouseEvent): void {
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const id = large && flow.getZoom() < FAR ? boxAt(points, SIZE, at, FINGER / flow.getZoom()) : undefined;
    props.onChoose(id);
    if (id) void flow.setCenter(at.x, at.y, { zoom: 1 });
  }

  function drop(event: DragEvent): void {
    const what = event.dataTransfer.getData(DRAGGED);
    if (!what) return;
    event.preventDefault();
    const box = event.target instanceof Element ? event.target.closest(".react-flow__node") : null;
    props.onDrop(what, box?.getAttribute("data-id") ?? undefined);
  }

  return (
    <section
      ref={wrapper}
      className="graph-pane"
      aria-label={props.label}
      aria-busy={!settled}
      onKeyDown={(event) => onUndoKeys(event, props.onUndo, props.onRedo)}
      onDragOver={(event) => { if (event.dataTransfer.types.includes(DRAGGED)) event.preventDefault(); }}
      onDrop={drop}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        onNodesChange={(changes) => {
          onNodesChange(changes.filter((each) => each.type !== "remove"));
          for (const each of changes) {
            if (each.type === "select" && each.selected) props.onChoose(each.id);
          }
        }}
        onEdgesChange={(changes) => {
          for (const each of changes) if (each.type === "select") setChosenEdge(each.selected ? each.id : undefined);
        }}
        onPaneClick={onPane}
        onNodeDoubleClick={(_, node) => props.onOpen(node.id)}
        onConnect={({ source, target }: Connection) => props.onConnect(source, target)}
        onBeforeDelete={async ({ nodes: gone, edges: cut }) => {
          const ids = gone.map((each) => each.id);
          if (ids.length > 0) props.onRemove(ids);
          else props.onDisconnect(cut);
          return false; // The text decides; the graph follows it.
        }}
        nodesDraggable={false}
        nodesConnectable={editable}
        deleteKeyCode={editable ? ["Delete", "Backspace"] : null}
        zoomOnDoubleClick={false}
        autoPanOnConnect={false}
        minZoom={least}
        proOptions={{ hideAttribution: false }}
      >
        <Background color="var(--grid)" />
        <Controls showInteractive={false} />
        {large && <Terrain {...painted} />}
        {points.size > MAPPED && <SmallMap {...painted} />}
      </ReactFlow>
    </section>
  );
}

/** Of a large graph only the boxes in and around the window, the chosen one, and arrows between these. */
function useDrawn(drawing: Drawing, points: Points, chosen: string | undefined, large: boolean): Drawing {
  const latest = useStore((state) => {
    if (!large) return "";
    const [x, y, zoom] = state.transform;
    return zoom < FAR ? "far" : JSON.stringify(frameOf({ x, y, zoom }, state.width, state.height));
  });
  const frame = useDeferredValue(latest);
  return useMemo(() => {
    if (!large) return drawing;
    const kept = frame === "far" || !frame ? new Set<string>() : inFrame(points, SIZE, JSON.parse(frame) as Frame);
    if (chosen !== undefined) kept.add(chosen);
    return {
      boxes: drawing.boxes.filter((each) => kept.has(each.id)),
      arrows: drawing.arrows.filter((each) => kept.has(each.source) && kept.has(each.target)),
    };
  }, [drawing, points, frame, chosen, large]);
}

function usePainted(drawing: Drawing, points: Points): Painted {
  return useMemo(
    () => ({
      places: points,
      size: SIZE,
      arcs: drawing.arrows,
      colors: new Map(drawing.boxes.map(({ id, data }) => [id, data.problems > 0 ? "var(--state-failed)" : "var(--state-running)"])),
      down: true,
    }),
    [drawing, points],
  );
}

/** The boxes as React Flow keeps them, with its own measures of those that stay. */
function useBoxes(drawing: Drawing, points: Points, chosen: string | undefined) {
  const [nodes, setNodes, onNodesChange] = useNodesState<TaskNodeType>([]);
  useEffect(() => {
    setNodes((before) => {
      const old = new Map(before.map((each) => [each.id, each]));
      return drawing.boxes
        .filter((each) => points.has(each.id))
        .map(({ id, data }) => ({
          ...old.get(id),
          id,
          type: "task" as const,
          data,
          position: points.get(id) ?? { x: 0, y: 0 },
          selected: id === chosen,
          width: WIDTH,
          height: HEIGHT,
          ariaLabel: `${data.name}${data.problems > 0 ? ", has problems" : ""}`,
        }));
    });
  }, [drawing, points, chosen, setNodes]);
  return [nodes, onNodesChange] as const;
}

function edgesOf(drawing: Drawing, chosen: string | undefined): Edge[] {
  return drawing.arrows.map(({ id, source, target, fixed }) => ({
    id,
    source,
    target,
    selected: id === chosen,
    deletable: !fixed,
    selectable: !fixed,
    focusable: !fixed,
    markerEnd: { type: MarkerType.ArrowClosed },
    interactionWidth: 24,
    ariaLabel: `${target} waits for ${source}`,
    ...(fixed ? { style: { strokeDasharray: "4 3" } } : {}),
  }));
}

function onUndoKeys(event: KeyboardEvent, undo: () => void, redo: () => void): void {
  if (!(event.metaKey || event.ctrlKey)) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  if (key === "y" || event.shiftKey) redo();
  else undo();
}

/** Lay out with one more box above all that wait for nothing, so that these stand side by side. */
async function places(drawing: Drawing): Promise<Points> {
  const top = "";
  const waiting = new Set(drawing.arrows.map((each) => each.target));
  const first = drawing.boxes.filter((each) => !waiting.has(each.id));
  const boxes = drawing.boxes.map(({ id }) => ({ id, width: WIDTH, height: HEIGHT }));
  const arcs = drawing.arrows.map(({ source, target }) => ({ source, target }));
  const points = await layoutGraph(
    [{ id: top, width: 1, height: 1 }, ...boxes],
    [...first.map(({ id }) => ({ source: top, target: id })), ...arcs],
    "DOWN",
  );
  points.delete(top);
  return points;
}

type Points = Map<string, { x: number; y: number }>;

/** Lay the drawing out when boxes or arrows come or go; until that is done the old places hold. */
function usePoints(drawing: Drawing, page: string): { points: Points; settled: boolean } {
  const shape = JSON.stringify([page, drawing.boxes.map((each) => each.id), drawing.arrows.map((each) => each.id)]);
  const [laid, setLaid] = useState<{ points: Points; shape: string }>({ points: new Map(), shape: "" });
  useEffect(() => {
    let current = true;
    void places(drawing).then((points) => { if (current) setLaid({ points, shape }); });
    return () => { current = false; };
    // The shape says all that the layout depends on.
  }, [shape]);
  return { points: laid.points, settled: laid.shape === shape };
}
