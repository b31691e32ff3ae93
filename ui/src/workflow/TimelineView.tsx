/** The Gantt chart: waiting apart from running, the critical path marked; rows exist only in view. */
import { Checkbox, Group, Slider, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useMemo, useState } from "react";

import type { Bar, Graph } from "../api/workflows";
import { Empty } from "../parts/Page";
import { colorOf, StatusMark } from "../parts/Status";
import { useNow } from "../parts/Time";
import { instant, span } from "../parts/time";
import { windowOf } from "../parts/window";
import { chartOf, ticks, type Chart, type Row } from "./gantt";

const ROW = 26;

interface TimelineViewProps {
  bars: Bar[];
  graph: Graph | undefined;
  live: boolean;
  chosen: string | undefined;
  onChoose: (node: string) => void;
}

/** The chart with its tools. */
export function TimelineView({ bars, graph, live, chosen, onChoose }: TimelineViewProps) {
  const now = useNow(live ? 1000 : 0);
  const [all, setAll] = useState(false);
  const [onlyCritical, setOnlyCritical] = useState(false);
  const [zoom, setZoom] = useState(1);
  const chart = useMemo(() => {
    const made = chartOf(bars, graph, now, all);
    return onlyCritical ? { ...made, rows: made.rows.filter((row) => row.critical) } : made;
  }, [bars, graph, now, all, onlyCritical]);
  if (!bars.length) return <Empty title="Nothing has started yet">Bars appear as soon as tasks are queued.</Empty>;
  return (
    <div className="gantt">
      <Group gap="md" mb="xs">
        <Checkbox size="xs" label="Only the critical path" checked={onlyCritical} onChange={(event) => setOnlyCritical(event.currentTarget.checked)} />
        <Checkbox size="xs" label="Groups too" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
        <Slider
          w={120}
          size="sm"
          min={1}
          max={20}
          step={0.5}
          value={zoom}
          onChange={setZoom}
          label={(value) => `${value}×`}
          thumbLabel="Zoom"
        />
        <Text size="sm" className="quiet">
          {chart.rows.length.toLocaleString("en")} tasks · waited {span(chart.waited)} · ran {span(chart.ran)}
        </Text>
        <Legend />
      </Group>
      <Bars chart={chart} now={now} zoom={zoom} chosen={chosen} onChoose={onChoose} />
    </div>
  );
}

function Legend() {
  return (
    <Group gap="xs">
      <Text size="xs" component="span">
        <span className="gantt-key gantt-wait" /> waits
      </Text>
      <Text size="xs" component="span">
        <span className="gantt-key gantt-key-run" /> runs
      </Text>
      <Text size="xs" component="span">
        <span className="gantt-key gantt-key-run gantt-critical" /> critical path
      </Text>
    </Group>
  );
}

interface BarsProps {
  chart: Chart;
  now: number;
  zoom: number;
  chosen: string | undefined;
  onChoose: (node: string) => void;
}

function Bars({ chart, now, zoom, chosen, onChoose }: BarsProps) {
  const { ref, height, width } = useElementSize();
  const [scroll, setScroll] = useState(0);
  const seen = windowOf(scroll, height || 400, chart.rows.length, ROW);
  const shown = chart.rows.slice(seen.first, seen.first + seen.count);
  const seconds = (chart.to - chart.from) / 1000;
  const marks = ticks(seconds, Math.max(2, ((width - 180) * zoom) / 110));
  return (
    <div className="gantt-scroll" ref={ref} onScroll={(event) => setScroll(event.currentTarget.scrollTop)} tabIndex={0} role="group" aria-label="Timeline">
      <div className="gantt-inner" style={{ width: `${zoom * 100}%` }}>
        <div className="gantt-axis" aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark} className={mark > 0.85 * seconds ? "gantt-last" : undefined} style={{ left: `${(mark / seconds) * 100}%` }}>
              {span(mark).replace(".0s", "s")}
            </span>
          ))}
        </div>
        <div className="gantt-track" style={{ height: seen.track }}>
          <div style={{ transform: `translateY(${seen.offset}px)` }}>
            {shown.map((row) => (
              <BarRow key={row.id} row={row} chart={chart} now={now} chosen={row.id === chosen} onChoose={onChoose} />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

interface BarRowProps {
  row: Row;
  chart: Chart;
  now: number;
  chosen: boolean;
  onChoose: (node: string) => void;
}

function BarRow({ row, chart, now, chosen, onChoose }: BarRowProps) {
  const scale = 100 / (chart.to - chart.from);
  const from = row.queued ?? row.start ?? chart.from;
  const begin = row.start ?? row.end ?? now;
  const end = row.end ?? now;
  const waited = Math.max(0, begin - from) / 1000;
  const ran = row.start === null ? 0 : Math.max(0, end - row.start) / 1000;
  const words = `${row.name}: ${row.status}, waited ${span(waited)}, ran ${span(ran)}, from ${instant(from)}${row.critical ? ", on the critical path" : ""}`;
  return (
    <button
      type="button"
      className={`gantt-row${chosen ? " gantt-chosen" : ""}`}
      onClick={() => onChoose(row.id)}
      aria-label={words}
      title={words}
    >
      <span className="gantt-name">
        <StatusMark status={row.status} size={13} />
        <span className="cut">{row.name}</span>
      </span>
      <span className="gantt-lane">
        {waited > 0 && (
          <span
            className="gantt-bar gantt-wait"
            style={{ left: `${(from - chart.from) * scale}%`, width: `${(begin - from) * scale}%` }}
          />
        )}
        {row.start !== null && (
          <span
            className={`gantt-bar${row.critical ? " gantt-critical" : ""}`}
            style={{
              left: `${(row.start - chart.from) * scale}%`,
              width: `max(3px, ${(end - row.start) * scale}%)`,
              background: colorOf(row.status),
            }}
          />
        )}
      </span>
    </button>
  );
}
