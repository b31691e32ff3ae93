/** A chart over time, by uPlot in the colours of the theme. */
import "uplot/dist/uPlot.min.css";

import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";

import { useTimeZone } from "./Time";

export interface Series {
  label: string;
  values: (number | null)[];
  /** A CSS variable, such as `--state-failed`. */
  color: string;
  fill?: boolean;
  dash?: boolean;
}

interface ChartProps {
  /** What the chart tells, for those who do not see it. */
  label: string;
  /** Seconds since the epoch. */
  times: number[];
  series: Series[];
  kind?: "lines" | "bars";
  height?: number;
  format?: (value: number) => string;
  /** Whether the values are bytes, with marks at round numbers of such. */
  binary?: boolean;
}

/** Seconds between two marks; what is below a second would bear the same words twice. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400];
const POWERS = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** The chart. Bars are stacked, the first series lowest. */
export function Chart({ label, times, series, kind = "lines", height = 180, format = String, binary = false }: ChartProps) {
  const { ref, width } = useElementSize();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme("light");
  const zone = useTimeZone();
  const shape = `${series.map((each) => each.label + each.color).join()}|${kind}|${scheme}|${zone}|${Math.round(width)}|${height}`;
  const data = dataOf(times, series, kind);

  useEffect(() => {
    if (!box.current || width < 10) return;
    const made = new uPlot(optionsOf({ series, kind, height, width, format, binary, zone, element: box.current }), data, box.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);

  return (
    <figure className="chart" ref={ref} aria-label={label} role="img">
      <div ref={box} style={{ height }} />
      <figcaption className="chart-legend" aria-hidden="true">
        {series.map((each) => (
          <span key={each.label}>
            <span className="chart-key" style={{ background: `var(${each.color})` }} />
            {each.label}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Bars are drawn over each other, so each holds what is below it too; the tallest is drawn first. */
function dataOf(times: number[], series: Series[], kind: "lines" | "bars"): uPlot.AlignedData {
  if (kind === "lines") return [times, ...series.map((each) => each.values)];
  const stacked: number[][] = [];
  for (const each of series) {
    const below = stacked.at(-1);
    stacked.push(each.values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)));
  }
  return [times, ...stacked.reverse()];
}

interface Look {
  series: Series[];
  kind: "lines" | "bars";
  height: number;
  width: number;
  format: (value: number) => string;
  binary: boolean;
  zone: string;
  element: HTMLElement;
}

function optionsOf({ series, kind, height, width, format, binary, zone, element }: Look): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim() || "#888";
  const axis = { stroke: color("--quiet"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false } };
  const clock = clockOf(zone);
  const drawn = kind === "bars" ? [...series].reverse() : series;
  return {
    width,
    height,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, space: 70, incrs: STEPS, values: (_, values, __, ___, step) => values.map((at) => clock(at, step)) },
      { ...axis, size: 58, incrs: binary ? POWERS : undefined, values: (_, values) => values.map((each) => (each === null ? "" : format(each))) },
    ],
    series: [
      {},
      ...drawn.map((each): uPlot.Series => ({
        label: each.label,
        stroke: color(each.color),
        width: kind === "bars" ? 0 : 1.6,
        dash: each.dash ? [5, 4] : undefined,
        fill: kind === "bars" ? color(each.color) : each.fill ? `${color(each.color)}33` : undefined,
        paths: kind === "bars" ? uPlot.paths.bars!({ size: [0.8, 40], gap: 1 }) : undefined,
        points: { show: false },
      })),
    ],
  };
}

/** Write the time of day, in 24 hours; with seconds where less than a minute lies between two marks. */
function clockOf(zone: string): (at: number, step: number) => string {
  const parts = { hour: "2-digit", minute: "2-digit", timeZone: zone } as const;
  const minutes = new Intl.DateTimeFormat("sv-SE", parts);
  const seconds = new Intl.DateTimeFormat("sv-SE", { ...parts, second: "2-digit" });
  return (at, step) => (step < 60 ? seconds : minutes).format(new Date(at * 1000));
}
