/** Schedules: when each is due, how it did, and one of them with its calendar. */
import { Anchor, Button, Group, Loader, Paper, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { listSchedules, type Schedule } from "../api/schedules";
import { Icon } from "../parts/Icon";
import { Empty, Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { StatusWord } from "../parts/Status";
import { Ago } from "../parts/Time";
import { ScheduleForm } from "./ScheduleForm";
import { SchedulePanel } from "./SchedulePanel";

const keyOf = (schedule: Schedule) => `${schedule.project_id}/${schedule.name}`;

/** The page. */
export function SchedulesPage() {
  const [search, setSearch] = useAddress();
  const [making, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({ queryKey: ["schedules"], queryFn: listSchedules, refetchInterval: 5000 });
  const chosen = data?.find((each) => keyOf(each) === search["schedule"]);
  const create = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
      New schedule
    </Button>
  );
  return (
    <Page title="Schedules" actions={create}>
      {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loader size="sm" />}
      {data?.length === 0 && (
        <Empty title="No schedules">
          A CronWorkflow runs a workflow at set times. Make one here, or with <span className="mono">tiphys cron create FILE</span>.
        </Empty>
      )}
      {data && data.length > 0 && (
        <div className={`split split-late${chosen ? " split-open" : ""}`}>
          <Paper withBorder className="scroll-x top" tabIndex={0} role="group" aria-label="Schedules">
            <Table miw={620} highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>When</Table.Th>
                  <Table.Th>Next</Table.Th>
                  <Table.Th>Last</Table.Th>
                  <Table.Th>Runs</Table.Th>
                  <Table.Th>State</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.map((schedule) => (
                  <Row key={keyOf(schedule)} schedule={schedule} chosen={schedule === chosen} onChoose={() => setSearch({ schedule: schedule === chosen ? "" : keyOf(schedule) })} />
                ))}
              </Table.Tbody>
            </Table>
          </Paper>
          {chosen && <SchedulePanel key={keyOf(chosen)} schedule={chosen} onClose={() => setSearch({ schedule: "" })} />}
        </div>
      )}
      {making && <ScheduleForm onClose={() => setMaking(false)} />}
    </Page>
  );
}

function Row({ schedule, chosen, onChoose }: { schedule: Schedule; chosen: boolean; onChoose: () => void }) {
  const state = schedule.phase === "stopped" ? "closed" : schedule.suspended ? "suspended" : "open";
  return (
    <Table.Tr className={chosen ? "list-marked" : undefined}>
      <Table.Td>
        <Anchor component="button" type="button" size="sm" fw={600} onClick={onChoose} aria-expanded={chosen}>
          {schedule.name}
        </Anchor>
        <Text size="xs" className="quiet">
          {schedule.project_id}
        </Text>
      </Table.Td>
      <Table.Td>
        <span className="mono">{schedule.schedules.join(" | ")}</span>
        <Text size="xs" className="quiet">
          {schedule.timezone ?? "the server's zone"}
        </Text>
      </Table.Td>
      <Table.Td>{schedule.suspended ? "–" : <Ago at={schedule.next_run} />}</Table.Td>
      <Table.Td>
        <Ago at={schedule.last_run} />
      </Table.Td>
      <Table.Td className="num nowrap">
        {schedule.succeeded} good · {schedule.failed} failed
        {schedule.active.length > 0 && ` · ${schedule.active.length} running`}
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          <StatusWord status={state} size={14} />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
