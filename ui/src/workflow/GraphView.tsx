/** The live graph: the whole plan with what ran of it. */
import "@xyflow/react/dist/base.css";

import { ActionIcon, Group, Loader, Text, TextInput, Tooltip } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { ReactFlow, ReactFlowProvider, useReactFlow, useStore, useStoreApi, type Edge } from "@xyflow/react";
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState, type MouseEvent } from "react";

import type { Graph } from "../api/workflows";
import { boundsOf, boxAt, DRAW_ALL, FAR, FINGER, fitOf, frameOf, inFrame, viewportOn, type Frame } from "../parts/culling";
import { Icon } from "../parts/Icon";
import { layoutSoon } from "../parts/layout";
import type { Point } from "../parts/layered";
import type { Painted } from "../parts/painting";
import { colorOf } from "../parts/Status";
import { SmallMap, Terrain } from "../parts/Terrain";
import { buildView, type Unit, type View } from "./plan";
import { HEIGHT, WIDTH } from "./unit";
import { UnitNode, type UnitFlowNode } from "./UnitNode";

const TYPES = { unit: UnitNode };
const SIZE = { width: WIDTH, height: HEIGHT };
/** Below this zoom names are hard to read. */
const READABLE = 0.6;
/** From so many boxes on there is a small map. */
const MAPPED = 25;

interface GraphViewProps {
  graph: Graph;
  chosen: string | undefined;
  onChoose: (node: string) => void;
}

/** The graph with its tools. */
export function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function useView(graph: Graph): [View, (unit: Unit) => void] {
  const [open, setOpen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const view = useMemo(() => buildView(graph, (key, usual) => open.get(key) ?? usual), [graph, open]);
  const toggle = useCallback((unit: Unit) => setOpen((before) => new Map(before).set(unit.key, !unit.open)), []);
  return [view, toggle];
}

/** Lay out anew when boxes or edges change; not when only states do. */
function usePlaces(view: View, down: boolean): ReadonlyMap<string, Point> {
  const [places, setPlaces] = useState<ReadonlyMap<string, Point>>(new Map());
  const shape = useMemo(
    () => `${down}|${view.units.map((unit) => unit.key).join(";")}|${view.edges.map((edge) => `${edge.source}>${edge.target}`).join(";")}`,
    [view, down],
  );
  useEffect(() => {
    const boxes = view.units.map(({ key }) => ({ id: key, width: WIDTH, height: HEIGHT }));
    return layoutSoon(boxes, view.edges, down ? "DOWN" : "RIGHT", setPlaces);
  }, [shape]);
  return places;
}

function Inner({ graph, chosen, onChoose }: GraphViewProps) {
  const narrow = useMediaQuery("(max-width: 700px)") ?? false;
  const [view, toggle] = useView(graph);
  const places = usePlaces(view, narrow);
  const [wanted, setWanted] = useState("");
  const large = view.units.length > DRAW_ALL;
  const drawn = useDrawn(view, places, large);
  const nodes = useNodes(drawn, places, { chosen, wanted, down: narrow, toggle });
  const edges = useEdges(drawn, places);
  const painted = usePainted(view, places, narrow);
  const least = useLeast(places, large);
  const goTo = useGoTo(places, least, narrow);
  const flow = useReactFlow();
  const at = useMemo(() => view.units.find((unit) => holds(unit, chosen))?.key, [view, chosen]);
  useFirstLook(places, narrow, goTo, at);
  useInView(places, at, goTo);

  /** From afar there are no boxes to click on, only their colours. */
  function onPane(event: MouseEvent): void {
    if (!large || flow.getZoom() >= FAR) return;
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const key = boxAt(places, SIZE, at, FINGER / flow.getZoom());
    if (key) goTo([key], 1);
  }

  if (!view.units.length) return <Text p="md">Nothing has been planned yet.</Text>;
  return (
    <div className="graph" data-units={view.units.length}>
      <Tools wanted={wanted} onWanted={setWanted} view={view} onChoose={onChoose} goTo={goTo} />
      {!places.size && <Loader className="graph-loader" size="sm" />}
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        minZoom={least}
        maxZoom={2}
        onPaneClick={onPane}
        onNodeClick={(_, node) => choose(node as UnitFlowNode, toggle, onChoose)}
        onNodesChange={(changes) => {
          const picked = changes.find((each) => each.type === "select" && each.selected);
          const node = picked && "id" in picked && nodes.find((each) => each.id === picked.id);
          if (node && document.activeElement?.closest(".react-flow__node")) choose(node, toggle, onChoose);
        }}
      >
        {large && <Terrain {...painted} />}
        {view.units.length > MAPPED && places.size > 0 && !narrow && <SmallMap {...painted} />}
      </ReactFlow>
    </div>
  );
}

/** Of a large graph only the boxes in and around the window, and none from afar; edges are painted. */
function useDrawn(view: View, places: ReadonlyMap<string, Point>, large: boolean): View {
  const latest = useStore((state) => {
    if (!large) return "";
    const [x, y, zoom] = state.transform;
    return zoom < FAR ? "far" : JSON.stringify(frameOf({ x, y, zoom }, state.width, state.height));
  });
  // Moving comes first; what is newly in view is drawn when there is time.
  const frame = useDeferredValue(latest);
  return useMemo(() => {
    if (!large) return view;
    if (frame === "far" || !frame) return { units: [], edges: [] };
    const kept = inFrame(places, SIZE, JSON.parse(frame) as Frame);
    return { units: view.units.filter(({ key }) => kept.has(key)), edges: [] };
  }, [view, places, frame, large]);
}

function usePainted(view: View, places: ReadonlyMap<string, Point>, down: boolean): Painted {
  return useMemo(
    () => ({
      places,
      size: SIZE,
      arcs: view.edges,
      colors: new Map(view.units.map((unit) => [unit.key, colorOf(unit.status)])),
      down,
    }),
    [view, places, down],
  );
}

/** Give how far one can go away: until everything is in view. */
function useLeast(places: ReadonlyMap<string, Point>, large: boolean): number {
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  return useMemo(() => {
    if (!large || !width) return 0.05;
    return Math.min(FAR, fitOf(boundsOf(places, SIZE), { width, height }));
  }, [places, large, width, height]);
}

type GoTo = (keys: readonly string[] | null, most?: number, from?: number) => void;

/** Bring boxes (null: all of them) into view. */
function useGoTo(places: ReadonlyMap<string, Point>, least: number, down: boolean): GoTo {
  const flow = useReactFlow();
  const store = useStoreApi();
  return useCallback(
    (keys, most = 1, from = least) => {
      const bounds = boundsOf(places, SIZE, keys ?? undefined);
      const { width, height } = store.getState();
      void flow.setViewport(viewportOn(bounds, { width, height }, { least: from, most, down }));
    },
    [places, least, down, flow, store],
  );
}

function choose(node: UnitFlowNode, toggle: (unit: Unit) => void, onChoose: (id: string) => void): void {
  const { unit } = node.data;
  if (unit.node) onChoose(unit.node);
  else if (unit.kind === "fan") toggle(unit);
}

interface Looks {
  chosen: string | undefined;
  wanted: string;
  down: boolean;
  toggle: (unit: Unit) => void;
}

function useNodes(view: View, places: ReadonlyMap<string, Point>, looks: Looks): UnitFlowNode[] {
  const { chosen, wanted, down, toggle } = looks;
  return useMemo(() => {
    const text = wanted.trim().toLowerCase();
    return view.units.flatMap((unit): UnitFlowNode[] => {
      const position = places.get(unit.key);
      if (!position) return [];
      return [
        {
          id: unit.key,
          type: "unit",
          position,
          width: WIDTH,
          height: HEIGHT,
          ariaLabel: `${unit.name}, ${unit.status}`,
          data: { unit, chosen: holds(unit, chosen), dimmed: text !== "" && !matches(unit, text), down, onToggle: toggle },
        },
      ];
    });
  }, [view, places, chosen, wanted, down, toggle]);
}

/** Tell whether a box is the chosen node, or stands for it. */
function holds(unit: Unit, chosen: string | undefined): boolean {
  return chosen !== undefined && (unit.node === chosen || unit.members.includes(chosen));
}

function matches(unit: Unit, text: string): boolean {
  return `${unit.name} ${unit.template} ${unit.status}`.toLowerCase().includes(text);
}

function useEdges(view: View, places: ReadonlyMap<string, Point>): Edge[] {
  return useMemo(
    () =>
      view.edges
        .filter(({ source, target }) => places.has(source) && places.has(target))
        .map(({ source, target }) => ({ id: `${source} ${target}`, source, target, selectable: false })),
    [view, places],
  );
}

/**
 * Show all of a graph with every new layout; of a large one what can be read, and only at first. Where
 * a box is chosen and the whole would be too small to read, that box comes first.
 */
function useFirstLook(places: ReadonlyMap<string, Point>, down: boolean, goTo: GoTo, chosen: string | undefined): void {
  const store = useStoreApi();
  const looked = useRef<boolean | null>(null);
  const ready = useStore((state) => state.width > 0);
  useEffect(() => {
    if (!ready || !places.size) return;
    const first = looked.current !== down;
    looked.current = down;
    if (places.size <= DRAW_ALL) {
      const { width, height } = store.getState();
      const small = fitOf(boundsOf(places, SIZE), { width, height }) < READABLE;
      goTo(chosen && small && places.has(chosen) ? [chosen] : null, chosen && small ? READABLE : 1);
    } else if (first) goTo(null, 1, FAR);
  }, [places, ready]);
}

/** Follow the chosen box where the panel that opens for it would hide it. */
function useInView(places: ReadonlyMap<string, Point>, chosen: string | undefined, goTo: GoTo): void {
  const store = useStoreApi();
  const width = useStore((state) => state.width);
  const latest = useRef({ places, goTo });
  latest.current = { places, goTo };
  useEffect(() => {
    const place = chosen === undefined ? undefined : latest.current.places.get(chosen);
    if (!place) return;
    const { transform, height } = store.getState();
    const [x, y, zoom] = transform;
    const left = place.x * zoom + x;
    const top = place.y * zoom + y;
    const seen = left >= 0 && top >= 0 && left + WIDTH * zoom <= width && top + HEIGHT * zoom <= height;
    if (!seen) latest.current.goTo([chosen!], Math.max(zoom, FAR));
  }, [chosen, width]);
}

interface ToolsProps {
  wanted: string;
  onWanted: (text: string) => void;
  view: View;
  onChoose: (node: string) => void;
  goTo: GoTo;
}

function Tools({ wanted, onWanted, view, onChoose, goTo }: ToolsProps) {
  const flow = useReactFlow();
  const turn = useRef(0);

  /** Go to the next box that matches; the failed ones where nothing is typed. */
  function next(): void {
    const text = wanted.trim().toLowerCase();
    const found = view.units.filter((unit) =>
      text ? matches(unit, text) : unit.status === "failed" || unit.status === "error",
    );
    const unit = found[turn.current++ % Math.max(1, found.length)];
    if (!unit) return;
    goTo([unit.key]);
    if (unit.node) onChoose(unit.node);
  }

  return (
    <Group gap={4} className="graph-tools" wrap="nowrap">
      <TextInput
        data-search
        size="xs"
        w={150}
        aria-label="Find in the graph"
        placeholder="Find …"
        value={wanted}
        onChange={(event) => {
          turn.current = 0;
          onWanted(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") next();
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <Tool label={wanted ? "Next match" : "Next failed"} icon="right" onClick={next} />
      <Tool label="Closer" icon="plus" onClick={() => void flow.zoomIn({ duration: 150 })} />
      <Tool label="Further" icon="minus" onClick={() => void flow.zoomOut({ duration: 150 })} />
      <Tool label="Show all" icon="expand" onClick={() => goTo(null)} />
    </Group>
  );
}

function Tool({ label, icon, onClick }: { label: string; icon: "right" | "plus" | "minus" | "expand"; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size={30} aria-label={label} onClick={onClick}>
        <Icon name={icon} size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
