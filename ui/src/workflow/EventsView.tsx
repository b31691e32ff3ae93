/** What happened to a workflow: who did what, what the scheduler says, and why nodes wait. */
import { Anchor, Loader, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { getEvents, getExplain } from "../api/workflows";
import { Problem } from "../parts/Problem";
import { Ago, At } from "../parts/Time";

interface EventsViewProps {
  workflow: string;
  live: boolean;
  onChoose: (node: string) => void;
}

/** Both lists. */
export function EventsView({ workflow, live, onChoose }: EventsViewProps) {
  const refetchInterval = live ? 3000 : false;
  const events = useQuery({ queryKey: ["events", workflow], queryFn: () => getEvents(workflow), refetchInterval });
  const waits = useQuery({ queryKey: ["explain", workflow], queryFn: () => getExplain(workflow), refetchInterval, enabled: live });
  if (events.error) return <Problem error={events.error} />;
  if (!events.data) return <Loader m="md" size="sm" />;
  return (
    <Stack p="md" gap="lg" className="scroll" tabIndex={0} role="group" aria-label="Events and waiting nodes">
      {live && (waits.data?.length ?? 0) > 0 && (
        <Table layout="auto" aria-label="Why nodes wait">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Node</Table.Th>
              <Table.Th>Why it waits</Table.Th>
              <Table.Th>Expected start</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {waits.data!.slice(0, 200).map((why) => (
              <Table.Tr key={why.node_id ?? why.name}>
                <Table.Td className="wrap-anywhere">
                  {why.node_id ? (
                    <Anchor component="button" type="button" size="sm" onClick={() => onChoose(why.node_id!)}>
                      {why.name}
                    </Anchor>
                  ) : (
                    why.name
                  )}
                </Table.Td>
                <Table.Td className="wrap-anywhere">{why.reason}</Table.Td>
                <Table.Td>{why.expected_start ? <Ago at={why.expected_start} /> : "–"}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Table aria-label="Events">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Kind</Table.Th>
            <Table.Th>What</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.data.map((event) => (
            <Table.Tr key={event.number}>
              <Table.Td className="nowrap">
                <At at={event.at} />
              </Table.Td>
              <Table.Td>{event.kind}</Table.Td>
              <Table.Td className="wrap-anywhere">
                {event.text} {event.node && <Text component="span" size="sm" className="quiet">({event.node})</Text>}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}
