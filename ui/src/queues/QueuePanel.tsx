/** One queue: who waits in it and why, how full it has been, and what can be changed. */
import { Anchor, Button, CloseButton, Group, Paper, SegmentedControl, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { call, part, type Schemas } from "../api/client";
import { LOCAL, queueLabel, removeQueue, setQueueState, type Queue, type QueueStatus } from "../api/queues";
import { Chart } from "../parts/Chart";
import { Confirm } from "../parts/Confirm";
import { tellDone, tellProblem } from "../parts/Problem";
import { Ago } from "../parts/Time";
import { QuotaForm } from "./QuotaForm";

interface QueuePanelProps {
  queue: Queue;
  status: QueueStatus | undefined;
  admin: boolean;
  onClose: () => void;
}

/** The panel. */
export function QueuePanel({ queue, status, admin, onClose }: QueuePanelProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={`Queue ${queue.name}`} className="queue-panel">
      <Stack>
        <Group justify="space-between" wrap="nowrap">
          <Title order={2} size="h4" className="cut">
            {queueLabel(queue)}
          </Title>
          <CloseButton aria-label="Close the queue" onClick={onClose} />
        </Group>
        <Group gap="xs">
          <Anchor component={Link} to={`/workflows?queue=${encodeURIComponent(queue.id)}`} size="sm">
            Its workflows
          </Anchor>
          {status && (
            <Text size="sm" className="quiet num">
              {status.stats.succeeded} succeeded · {status.stats.failed} failed
            </Text>
          )}
        </Group>
        {admin && <Tools queue={queue} onGone={onClose} />}
        <Waiting status={status} />
        {queue.scheduler === LOCAL ? <History queue={queue} /> : <Groups queue={queue} status={status} />}
        {admin && <QuotaForm key={JSON.stringify(queue)} queue={queue} />}
      </Stack>
    </Paper>
  );
}

/** Of a queue that another scheduler keeps: what it holds, as that one tells. */
function Groups({ queue, status }: { queue: Queue; status: QueueStatus | undefined }) {
  const word = status?.workloads ? "Workloads" : "Pod groups";
  const known = Object.entries(status?.workloads ?? status?.pod_groups ?? {}).filter(([, count]) => count);
  return (
    <Text size="sm">
      {known.length ? `${word}: ${known.map(([phase, count]) => `${count} ${phase}`).join(", ")}. ` : `No ${word.toLowerCase()}. `}
      How full it has been is told by the metrics of {queue.scheduler}.
    </Text>
  );
}

function Tools({ queue, onGone }: { queue: Queue; onGone: () => void }) {
  const queries = useQueryClient();
  const [removing, setRemoving] = useState(false);
  const open = queue.status === "open";

  async function toggle(): Promise<void> {
    try {
      await setQueueState(queue.id, open ? "close" : "open");
      tellDone(`${queue.name} is ${open ? "closed: nothing new starts" : "open"}`);
    } catch (error) {
      tellProblem(error);
    }
    await queries.invalidateQueries({ queryKey: ["queues"] });
    await queries.invalidateQueries({ queryKey: ["queue", queue.id] });
  }

  async function remove(): Promise<void> {
    try {
      await removeQueue(queue.id);
      tellDone(`${queue.name} removed`);
      onGone();
    } catch (error) {
      tellProblem(error, "The queue stays");
    }
    await queries.invalidateQueries({ queryKey: ["queues"] });
  }

  return (
    <Group gap="xs">
      <Button size="xs" variant="default" onClick={() => void toggle()}>
        {open ? "Close the queue for new work" : "Open the queue"}
      </Button>
      {queue.name !== "default" && (
        <Button size="xs" variant="default" onClick={() => setRemoving(true)}>
          Remove
        </Button>
      )}
      {removing && (
        <Confirm title={`Remove ${queue.name}?`} action="Remove" danger onConfirm={remove} onClose={() => setRemoving(false)}>
          A queue with live workflows or queues below it stays.
        </Confirm>
      )}
    </Group>
  );
}

function Waiting({ status }: { status: QueueStatus | undefined }) {
  const waiting = status?.waiting ?? [];
  return (
    <section aria-label="In line">
      <Title order={3} size="h6" mb={4}>
        In line, in order
      </Title>
      {waiting.length ? (
        <Table verticalSpacing={4} aria-label="Waiting nodes">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Node</Table.Th>
              <Table.Th>Why it waits</Table.Th>
              <Table.Th>Expected</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {waiting.map((each) => (
              <Table.Tr key={each.workflow_id + each.node_id}>
                <Table.Td className="wrap-anywhere">
                  <Link to="/workflows/$id" params={{ id: each.workflow_id }} search={{ node: each.node_id }} className="row-link">
                    {each.name}
                  </Link>
                </Table.Td>
                <Table.Td className="wrap-anywhere">{each.reason}</Table.Td>
                <Table.Td className="nowrap">
                  <Ago at={each.expected_start} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      ) : (
        <Text size="sm">Nobody waits.</Text>
      )}
    </section>
  );
}

type Point = Schemas["QueueUse"];

function History({ queue }: { queue: Queue }) {
  const [hours, setHours] = useState("1");
  const { data = [] } = useQuery({
    queryKey: ["queue-history", queue.id, hours],
    queryFn: () => call<Point[]>(`/overview/queues/${part(queue.id)}`, { query: { hours } }),
    refetchInterval: 10_000,
    placeholderData: (before) => before,
  });
  return (
    <section aria-label="History">
      <Group justify="space-between">
        <Title order={3} size="h6">
          Over time
        </Title>
        <SegmentedControl
          size="xs"
          aria-label="Span of the chart"
          value={hours}
          onChange={setHours}
          data={[
            { value: "1", label: "1h" },
            { value: "6", label: "6h" },
            { value: "24", label: "24h" },
          ]}
        />
      </Group>
      <Chart
        label={`Cores held and nodes in line of ${queue.name}`}
        height={150}
        times={data.map((each) => Date.parse(each.at) / 1000)}
        series={[
          { label: "cores held", values: data.map((each) => each.cpu), color: "--state-running", fill: true },
          { label: "nodes in line", values: data.map((each) => each.waiting), color: "--state-error" },
        ]}
        format={(value) => String(Math.round(value * 10) / 10)}
      />
    </section>
  );
}
