/**
 * A large graph as a whole: painted behind the boxes of React Flow, and as a small map in the corner.
 *
 * Both stand inside of `<ReactFlow>` and follow its viewport.
 */
import { useComputedColorScheme } from "@mantine/core";
import { Panel, useReactFlow, useStore, useStoreApi } from "@xyflow/react";
import { useLayoutEffect, useMemo, useRef, type PointerEvent } from "react";

import { boundsOf, FAR, frameOf, type Size, type Viewport } from "./culling";
import { paintArcs, paintBoxes, prepared, resolved, type Painted } from "./painting";

interface State {
  transform: [number, number, number];
  width: number;
  height: number;
}

const transformOf = ({ transform }: State) => transform;

function useSeen(): { view: Viewport; window: Size } {
  const [x, y, zoom] = useStore(transformOf);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  return { view: { x, y, zoom }, window: { width, height } };
}

/** Edges always, boxes from afar. */
export function Terrain(painted: Painted) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { view, window } = useSeen();
  const scheme = useComputedColorScheme("light");
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element && prepared(element, window);
    if (!context) return;
    const frame = frameOf(view, window.width, window.height);
    context.strokeStyle = resolved(element, "var(--state-planned)");
    context.lineWidth = view.zoom < FAR ? 0.5 : 1;
    context.globalAlpha = view.zoom < FAR ? 0.12 : Math.min(0.9, 0.2 + 0.5 * view.zoom);
    paintArcs(context, painted, view, frame);
    context.globalAlpha = 1;
    if (view.zoom < FAR) paintBoxes(context, painted, view, frame);
  });
  return <canvas ref={canvas} className="terrain" data-far={view.zoom < FAR} data-scheme={scheme} aria-hidden="true" />;
}

const MAP: Size = { width: 180, height: 120 };

/** The whole in a corner, with the part that is in the window; a click or a drag goes there. */
export function SmallMap(painted: Painted) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const store = useStoreApi();
  const { view, window } = useSeen();
  const scheme = useComputedColorScheme("light");
  const bounds = useMemo(() => boundsOf(painted.places, painted.size), [painted.places, painted.size]);
  const zoom = Math.min(MAP.width / bounds.width, MAP.height / bounds.height);
  const small: Viewport = {
    zoom,
    x: MAP.width / 2 - (bounds.x + bounds.width / 2) * zoom,
    y: MAP.height / 2 - (bounds.y + bounds.height / 2) * zoom,
  };
  useLayoutEffect(() => {
    const context = canvas.current && prepared(canvas.current, MAP);
    if (context) paintBoxes(context, painted, small, null);
  }, [painted.places, painted.colors, scheme]);

  function go(event: PointerEvent): void {
    if (!event.buttons) return;
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.x - small.x) / zoom;
    const y = (event.clientY - box.y - small.y) / zoom;
    void flow.setCenter(x, y, { zoom: store.getState().transform[2] });
  }

  return (
    <Panel position="bottom-right" className="small-map">
      <div onPointerDown={go} onPointerMove={go} role="img" aria-label="Small map" style={MAP}>
        <canvas ref={canvas} style={MAP} />
        <span className="small-map-view" style={windowOn(view, window, small)} />
      </div>
    </Panel>
  );
}

/** Give where the window is on the small map. */
function windowOn(view: Viewport, window: Size, small: Viewport) {
  const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value));
  const left = clamp((-view.x / view.zoom) * small.zoom + small.x, MAP.width - 3);
  const top = clamp((-view.y / view.zoom) * small.zoom + small.y, MAP.height - 3);
  const right = clamp(((window.width - view.x) / view.zoom) * small.zoom + small.x, MAP.width);
  const bottom = clamp(((window.height - view.y) / view.zoom) * small.zoom + small.y, MAP.height);
  return { left, top, width: Math.max(3, right - left), height: Math.max(3, bottom - top) };
}
