/** The queues at a glance: how deep, how long starts waited, whether the promise is kept. */
import { Anchor, Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { Panorama, QueueLine } from "../api/overview";
import { queueName } from "../api/queues";
import { Card } from "../parts/Page";
import { StatusWord } from "../parts/Status";
import { span } from "../parts/time";

/** Tell how a queue does against the wait that it promises. */
export function slaOf(queue: Pick<QueueLine, "sla_seconds">, p95: number | null): { word: string; kept: boolean | null } {
  if (queue.sla_seconds === null) return { word: "none set", kept: null };
  if (p95 === null) return { word: `within ${span(queue.sla_seconds)}`, kept: true };
  const kept = p95 <= queue.sla_seconds;
  return { word: `${span(p95)} of ${span(queue.sla_seconds)}`, kept };
}

/** The table. */
export function QueueCard({ queues, waits }: Pick<Panorama, "queues" | "waits">) {
  return (
    <Card title="Queues" actions={<Anchor component={Link} to="/queues" size="sm">All queues</Anchor>}>
      <div className="scroll-x" tabIndex={0} role="group" aria-label="Queues">
        <Table miw={560} verticalSpacing={5}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Queue</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Waiting</Table.Th>
              <Table.Th>Running</Table.Th>
              <Table.Th>Wait, p50</Table.Th>
              <Table.Th>Wait, p95</Table.Th>
              <Table.Th>SLA</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {queues.map((queue) => <Row key={queue.id} queue={queue} waits={waits.find((each) => each.queue_id === queue.id)} />)}
          </Table.Tbody>
        </Table>
      </div>
    </Card>
  );
}

function Row({ queue, waits }: { queue: QueueLine; waits: Panorama["waits"][number] | undefined }) {
  const sla = slaOf(queue, waits?.p95 ?? null);
  return (
    <Table.Tr>
      <Table.Td>
        <Link to="/queues" search={{ queue: queue.id }} className="row-link">
          {queueName(queue.id)}
        </Link>
      </Table.Td>
      <Table.Td>
        <StatusWord status={queue.status} size={14} />
      </Table.Td>
      <Table.Td className="num">{queue.waiting}</Table.Td>
      <Table.Td className="num">{queue.running}</Table.Td>
      <Table.Td className="num">{span(waits?.p50)}</Table.Td>
      <Table.Td className="num">{span(waits?.p95)}</Table.Td>
      <Table.Td>
        {sla.kept === null ? <span className="quiet">{sla.word}</span> : <span className={sla.kept ? "" : "figure-danger"}>{sla.kept ? "kept: " : "missed: "}{sla.word}</span>}
      </Table.Td>
    </Table.Tr>
  );
}
