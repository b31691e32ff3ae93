/** The queues at a glance: how deep, how long starts waited, whether the promise is kept. */
import { Anchor, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Overview } from "../api/overview";
import { getQueueStatus, listQueues, type Queue, type QueueStatus } from "../api/queues";
import { Card } from "../parts/Page";
import { StatusWord } from "../parts/Status";
import { span } from "../parts/time";

const SHOWN = 12;

/** Tell how a queue does against the wait that it promises. */
export function slaOf(queue: Pick<Queue, "sla_seconds">, p95: number | null): { word: string; kept: boolean | null } {
  if (queue.sla_seconds === null || queue.sla_seconds === undefined) return { word: "none set", kept: null };
  if (p95 === null) return { word: `within ${span(queue.sla_seconds)}`, kept: true };
  const kept = p95 <= queue.sla_seconds;
  return { word: `${span(p95)} of ${span(queue.sla_seconds)}`, kept };
}

/** The table. */
export function QueueCard({ overview }: { overview: Overview }) {
  const { data } = useQuery({
    queryKey: ["queues", "dashboard"],
    queryFn: async () => {
      const queues = (await listQueues()).slice(0, SHOWN);
      return Promise.all(queues.map(async (queue) => [queue, await getQueueStatus(queue.id)] as const));
    },
    refetchInterval: 5000,
  });
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
            {data?.map(([queue, status]) => <Row key={queue.id} queue={queue} status={status} overview={overview} />)}
          </Table.Tbody>
        </Table>
      </div>
    </Card>
  );
}

function Row({ queue, status, overview }: { queue: Queue; status: QueueStatus; overview: Overview }) {
  const waits = overview.waits.find((each) => each.queue_id === queue.id);
  const sla = slaOf(queue, waits?.p95 ?? null);
  return (
    <Table.Tr>
      <Table.Td>
        <Link to="/queues" search={{ queue: queue.id }} className="row-link">
          {queue.name}
        </Link>
      </Table.Td>
      <Table.Td>
        <StatusWord status={status.status} size={14} />
      </Table.Td>
      <Table.Td className="num">{Math.max(status.stats.waiting, status.waiting.length)}</Table.Td>
      <Table.Td className="num">{status.stats.running}</Table.Td>
      <Table.Td className="num">{span(waits?.p50)}</Table.Td>
      <Table.Td className="num">{span(waits?.p95)}</Table.Td>
      <Table.Td>
        {sla.kept === null ? <span className="quiet">{sla.word}</span> : <span className={sla.kept ? "" : "figure-danger"}>{sla.kept ? "kept: " : "missed: "}{sla.word}</span>}
      </Table.Td>
    </Table.Tr>
  );
}
