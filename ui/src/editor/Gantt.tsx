/** The predicted schedule: when each task would wait and run. */
import { Stack, Text } from "@mantine/core";

import { At } from "../parts/Time";
import type { Simulation } from "./api";
import { rowsOf } from "./submission";

const SHOWN = 200;

export function Gantt({ simulation, at }: { simulation: Simulation; at: Date }) {
  const rows = rowsOf(simulation);
  const end = Math.max(1e-9, ...rows.map((each) => each.end));
  const later = (seconds: number) => new Date(at.getTime() + seconds * 1000).toISOString();
  const first = Math.min(...rows.map((each) => each.start));
  const stuck = Object.keys(simulation.report.stuck);
  return (
    <Stack gap="xs">
      {rows.length > 0 && (
        <Text size="sm">
          Would start <At at={later(first)} /> and end <At at={later(end)} />: {words(end)} for {rows.length}{" "}
          {rows.length === 1 ? "task" : "tasks"}.
        </Text>
      )}
      {stuck.length > 0 && (
        <Text size="sm" className="stale">
          Would never start: {stuck.slice(0, 10).join(", ")}
        </Text>
      )}
      {simulation.report.warnings.map((each) => (
        <Text key={each} size="xs" className="quiet">
          {each}
        </Text>
      ))}
      <div className="forecast" role="table" aria-label="Predicted schedule">
        {rows.slice(0, SHOWN).map((row, index) => (
          <div className="forecast-row" role="row" key={index}>
            <span className="cut" role="cell" title={row.name}>
              {row.name}
            </span>
            <span className="forecast-track" role="cell" aria-label={`from ${words(row.start)} to ${words(row.end)}`}>
              <span className="forecast-wait" style={{ left: share(row.ready, end), width: share(row.start - row.ready, end) }} />
              <span className="forecast-bar" style={{ left: share(row.start, end), width: share(row.end - row.start, end) }} />
            </span>
            <span className="num" role="cell">
              {words(row.end - row.start)}
            </span>
          </div>
        ))}
      </div>
      {rows.length > SHOWN && <Text size="xs">and {rows.length - SHOWN} more</Text>}
    </Stack>
  );
}

function share(part: number, whole: number): string {
  return `${((part / whole) * 100).toFixed(3)}%`;
}

/** Write seconds for people. */
export function words(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
