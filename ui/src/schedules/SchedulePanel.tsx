/** One schedule: what is due, what ran, what can be done, and filling back. */
import { Anchor, Button, CloseButton, Group, Paper, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { cancelBackfill, listBackfills, nextRuns, removeSchedule, runSchedule, setSuspended, type Schedule } from "../api/schedules";
import { Confirm } from "../parts/Confirm";
import { tellDone, tellProblem } from "../parts/Problem";
import { Ago, At } from "../parts/Time";
import { Calendar } from "./Calendar";
import { ScheduleForm } from "./ScheduleForm";

/** The panel. */
export function SchedulePanel({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={`Schedule ${schedule.name}`} className="queue-panel">
      <Stack>
        <Group justify="space-between" wrap="nowrap">
          <Title order={2} size="h4" className="cut">
            {schedule.name}
          </Title>
          <CloseButton aria-label="Close the schedule" onClick={onClose} />
        </Group>
        <Text size="sm">
          {schedule.concurrency_policy === "Allow" && "Runs may overlap."}
          {schedule.concurrency_policy === "Forbid" && "A run is left out while another is under way."}
          {schedule.concurrency_policy === "Replace" && "A run takes the place of one under way."}{" "}
          <Anchor component={Link} to={`/workflows?name=${encodeURIComponent(`${schedule.name}-`)}`} size="sm">
            Its workflows
          </Anchor>
        </Text>
        {schedule.conditions.map((each) => (
          <Text key={each.type} size="sm" className="figure-danger wrap-anywhere">
            {each.type}: {each.message}
          </Text>
        ))}
        <Tools schedule={schedule} onGone={onClose} />
        <NextRuns schedule={schedule} />
        <Calendar schedule={schedule} />
        <Backfills schedule={schedule} />
      </Stack>
    </Paper>
  );
}

function Tools({ schedule, onGone }: { schedule: Schedule; onGone: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<"edit" | "remove" | null>(null);

  async function attempt(deed: () => Promise<unknown>, done: string): Promise<void> {
    try {
      await deed();
      tellDone(done);
    } catch (error) {
      tellProblem(error);
    }
    await queries.invalidateQueries({ queryKey: ["schedules"] });
  }

  return (
    <Group gap="xs">
      <Button
        size="xs"
        variant="default"
        onClick={() => void attempt(() => setSuspended(schedule, !schedule.suspended), schedule.suspended ? "Resumed" : "Suspended")}
      >
        {schedule.suspended ? "Resume" : "Suspend"}
      </Button>
      <Button
        size="xs"
        variant="default"
        onClick={() =>
          void attempt(async () => {
            const made = await runSchedule(schedule);
            await navigate({ to: "/workflows/$id", params: { id: made.id } });
          }, "Started")
        }
      >
        Run now
      </Button>
      <Button size="xs" variant="default" onClick={() => setAsked("edit")}>
        Change
      </Button>
      <Button size="xs" variant="default" onClick={() => setAsked("remove")}>
        Remove
      </Button>
      {asked === "edit" && <ScheduleForm schedule={schedule} onClose={() => setAsked(null)} />}
      {asked === "remove" && (
        <Confirm
          title={`Remove ${schedule.name}?`}
          action="Remove"
          danger
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await attempt(() => removeSchedule(schedule), "Removed");
            onGone();
          }}
        >
          Its backfills go with it; its workflows stay.
        </Confirm>
      )}
    </Group>
  );
}

function NextRuns({ schedule }: { schedule: Schedule }) {
  const { data = [] } = useQuery({
    queryKey: ["next", schedule.project_id, schedule.name, schedule.next_run],
    queryFn: () => nextRuns(schedule, 5),
  });
  return (
    <section aria-label="Next runs">
      <Title order={3} size="h6" mb={4}>
        Next runs{schedule.suspended ? ", were it not suspended" : ""}
      </Title>
      <Table verticalSpacing={2} withRowBorders={false}>
        <Table.Tbody>
          {data.map(({ at }) => (
            <Table.Tr key={at}>
              <Table.Td>
                <At at={at} />
              </Table.Td>
              <Table.Td className="quiet">
                <Ago at={at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function Backfills({ schedule }: { schedule: Schedule }) {
  const queries = useQueryClient();
  const key = ["backfills", schedule.project_id, schedule.name];
  const { data = [] } = useQuery({ queryKey: key, queryFn: () => listBackfills(schedule), refetchInterval: 3000 });
  if (!data.length) return null;
  return (
    <section aria-label="Backfills">
      <Title order={3} size="h6" mb={4}>
        Backfills
      </Title>
      <Stack gap="xs">
        {data.map((each) => (
          <div key={each.name}>
            <Group justify="space-between" gap="xs">
              <Text size="sm">
                <At at={each.start} /> to <At at={each.end} />: {each.status}
              </Text>
              {each.status === "running" && (
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => void cancelBackfill(schedule, each.name).then(() => queries.invalidateQueries({ queryKey: key }), tellProblem)}
                >
                  Cancel
                </Button>
              )}
            </Group>
            <Progress
              value={each.total ? (100 * (each.succeeded + each.failed)) / each.total : 100}
              aria-label={`${each.succeeded + each.failed} of ${each.total} done`}
            />
            <Text size="xs" className="num">
              {each.succeeded} succeeded, {each.failed} failed, {each.live} running, of {each.total}
            </Text>
          </div>
        ))}
      </Stack>
    </section>
  );
}
