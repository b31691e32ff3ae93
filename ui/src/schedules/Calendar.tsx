/** The backfill calendar: a month of slots with what ran, and a range of days to run after the fact. */
import { ActionIcon, Button, Group, NumberInput, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { nextRuns, startBackfill, type Schedule } from "../api/schedules";
import { listWorkflows } from "../api/workflows";
import { Icon } from "../parts/Icon";
import { tellDone, tellProblem } from "../parts/Problem";
import { colorOf } from "../parts/Status";
import { useTimeZone } from "../parts/Time";
import { dateIn, dayStart, monthAfter, monthOf, slotOf, type Day, type Run } from "./calendar";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MOST = 1000;

function useMonth(schedule: Schedule, month: string, zone: string): Day[][] {
  const from = dayStart(`${month}-01`, zone, -7);
  const until = dayStart(`${monthAfter(month, 1)}-01`, zone, 7);
  const slots = useQuery({
    queryKey: ["slots", schedule.project_id, schedule.name, month, zone],
    queryFn: () => nextRuns(schedule, MOST, from),
  });
  const runs = useQuery({
    queryKey: ["slot-runs", schedule.project_id, schedule.name],
    queryFn: () => listWorkflows({ name: `${schedule.name}-`, project_id: schedule.project_id }, 1, 200),
    refetchInterval: 5000,
  });
  const known = (runs.data?.items ?? []).flatMap((run): Run[] => {
    const slot = slotOf(run.workflow_name, schedule.name);
    return slot === null ? [] : [{ status: run.status, slot }];
  });
  return monthOf(month, (slots.data ?? []).map(({ at }) => at).filter((at) => at < until), known, zone);
}

/** The month, and the form below it. */
export function Calendar({ schedule }: { schedule: Schedule }) {
  const zone = useTimeZone();
  const [month, setMonth] = useState(() => dateIn(zone)(Date.now()).slice(0, 7));
  const [range, setRange] = useState<[string, string] | null>(null);
  const weeks = useMonth(schedule, month, zone);

  function pick(date: string): void {
    if (!range || range[0] !== range[1]) setRange([date, date]);
    else setRange(date < range[0] ? [date, range[0]] : [range[0], date]);
  }

  return (
    <section aria-label="Calendar">
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h6">
          Calendar
        </Title>
        <Group gap={4}>
          <ActionIcon variant="default" aria-label="Month before" onClick={() => setMonth(monthAfter(month, -1))} className="turned">
            <Icon name="right" size={14} />
          </ActionIcon>
          <Text size="sm" className="num" aria-live="polite">
            {month}
          </Text>
          <ActionIcon variant="default" aria-label="Month after" onClick={() => setMonth(monthAfter(month, 1))}>
            <Icon name="right" size={14} />
          </ActionIcon>
        </Group>
      </Group>
      <div className="calendar">
        {WEEKDAYS.map((name) => (
          <span key={name} className="calendar-head">
            {name}
          </span>
        ))}
        {weeks.flat().map((day) => (
          <DayCell key={day.date} day={day} chosen={range !== null && day.date >= range[0] && day.date <= range[1]} onPick={() => pick(day.date)} />
        ))}
      </div>
      {range ? (
        <Range schedule={schedule} range={range} zone={zone} onDone={() => setRange(null)} />
      ) : (
        <Text size="xs" className="quiet" mt={4}>
          Choose a first and a last day to run their slots after the fact.
        </Text>
      )}
    </section>
  );
}

function DayCell({ day, chosen, onPick }: { day: Day; chosen: boolean; onPick: () => void }) {
  const runs = Object.entries(day.runs);
  const words = [`${day.slots} slots`, ...runs.map(([status, count]) => `${count} ${status}`)].join(", ");
  return (
    <button
      type="button"
      className={`calendar-day${day.inMonth ? "" : " calendar-other"}${chosen ? " calendar-chosen" : ""}`}
      aria-pressed={chosen}
      title={words}
      onClick={onPick}
    >
      <span>
        <span className="visually-hidden">{day.date.slice(0, 8)}</span>
        {Number(day.date.slice(8))}
      </span>
      <span className="calendar-slots num">{day.slots || ""}</span>
      <span className="visually-hidden">{words}</span>
      <span className="unit-bar">
        {runs.map(([status, count]) => (
          <span key={status} style={{ flexGrow: count, background: colorOf(status) }} />
        ))}
      </span>
    </button>
  );
}

interface RangeProps {
  schedule: Schedule;
  range: [string, string];
  zone: string;
  onDone: () => void;
}

function Range({ schedule, range, zone, onDone }: RangeProps) {
  const queries = useQueryClient();
  const [parallel, setParallel] = useState(2);
  const [busy, setBusy] = useState(false);

  async function start(): Promise<void> {
    setBusy(true);
    try {
      const end = new Date(Date.parse(dayStart(range[1], zone, 1)) - 1000).toISOString();
      const made = await startBackfill(schedule, { start: dayStart(range[0], zone), end, max_parallel: parallel });
      tellDone(`Filling back ${made.total} slots`);
      await queries.invalidateQueries({ queryKey: ["backfills", schedule.project_id, schedule.name] });
      onDone();
    } catch (error) {
      tellProblem(error, "Not filled back");
    } finally {
      setBusy(false);
    }
  }

  return (
    <Stack gap="xs" mt="xs">
      <Text size="sm">
        From {range[0]} to {range[1]}, both included
      </Text>
      <Group gap="xs" align="flex-end">
        <NumberInput size="xs" w={110} label="At once" min={1} max={100} value={parallel} onChange={(value) => setParallel(Number(value) || 1)} />
        <Button size="xs" loading={busy} onClick={() => void start()}>
          Fill back
        </Button>
        <Button size="xs" variant="default" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}
