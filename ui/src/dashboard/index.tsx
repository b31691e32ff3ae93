/** The dashboard: what runs, what failed, how full the machine and the queues are. */
import { Anchor, Group, Loader, Paper, Progress, SegmentedControl, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { memo } from "react";

import type { LiveState } from "../api/live";
import type { Panorama } from "../api/overview";
import type { Summary } from "../api/workflows";
import { Chart } from "../parts/Chart";
import { Card, Empty, Page } from "../parts/Page";
import { useAddress } from "../parts/search";
import { StatusMark } from "../parts/Status";
import { Ago, Took } from "../parts/Time";
import { span } from "../parts/time";
import { MachineCard } from "./MachineCard";
import { QueueCard } from "./QueueCard";
import { usePanorama } from "./usePanorama";

const SPANS = { "1h": 1, "6h": 6, "24h": 24 } as const;

/** The page. */
export function DashboardPage() {
  const [search, setSearch] = useAddress();
  const chosen = (Object.keys(SPANS) as (keyof typeof SPANS)[]).find((each) => each === search["span"]) ?? "24h";
  const { seen, state } = usePanorama(SPANS[chosen]);
  return (
    <Page
      title="Dashboard"
      about={<Connection state={state} />}
      actions={
        <SegmentedControl
          aria-label="Span of time"
          data={Object.keys(SPANS)}
          value={chosen}
          onChange={(span) => setSearch({ span: span === "24h" ? "" : span })}
        />
      }
    >
      {seen ? <Shown seen={seen} span={chosen} /> : <Loader size="sm" aria-label="Loading" />}
    </Page>
  );
}

function Connection({ state }: { state: LiveState }) {
  const words = { live: "live", connecting: "connecting …", ended: "no longer live", lost: "connection lost, trying again" };
  return (
    <Text size="sm" className={state === "lost" ? "figure-danger" : "quiet"} role="status">
      {words[state]}
    </Text>
  );
}

function Shown({ seen, span: chosen }: { seen: Panorama; span: string }) {
  const total = (name: "succeeded" | "failed" | "error") => seen.buckets.reduce((sum, bucket) => sum + bucket[name], 0);
  const good = total("succeeded");
  const bad = total("failed") + total("error");
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
        <Figure label="Running" value={seen.running} to="/workflows?status=running" />
        <Figure label="Pending" value={seen.pending} to="/workflows?status=pending" />
        <Figure label={`Succeeded, ${chosen}`} value={good} to={`/workflows?status=succeeded&since=${chosen}`} />
        <Figure label={`Failed, ${chosen}`} value={bad} to={`/workflows?status=failed,error&since=${chosen}`} danger={bad > 0} />
        <Figure label="Failure rate" value={good + bad ? `${Math.round((100 * bad) / (good + bad))}%` : "–"} />
        <Figure label="Nodes in line" value={seen.latest.waiting} to="/queues" />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="sm">
        <Running rows={seen.running_rows} />
        <Card title="Ended lately" actions={<All to="/workflows?status=succeeded,failed,error" />}>
          {seen.ended_rows.length ? <Rows rows={seen.ended_rows} label="Ended workflows" /> : <Empty title="Nothing has ended" />}
        </Card>
        <Card title="Failed lately" actions={<All to="/workflows?status=failed,error" />}>
          {seen.failed_rows.length ? <Rows rows={seen.failed_rows} label="Failed workflows" /> : <Empty title="Nothing has failed" />}
        </Card>
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <Throughput buckets={seen.buckets} hours={seen.hours} />
        <MachineCard seen={seen} />
      </SimpleGrid>
      <QueueCard queues={seen.queues} waits={seen.waits} />
    </Stack>
  );
}

interface FigureProps {
  label: string;
  value: number | string;
  to?: string;
  danger?: boolean;
}

function Figure({ label, value, to, danger }: FigureProps) {
  const inside = (
    <>
      <Text size="sm" className="quiet">
        {label}
      </Text>
      <Text size="xl" fw={700} className={danger ? "num figure-danger" : "num"}>
        {typeof value === "number" ? value.toLocaleString("en") : value}
      </Text>
    </>
  );
  if (!to) {
    return (
      <Paper withBorder p="sm">
        {inside}
      </Paper>
    );
  }
  return (
    <Paper withBorder p="sm" component={Link} to={to} className="figure-link">
      {inside}
    </Paper>
  );
}

function Running({ rows }: { rows: readonly Summary[] }) {
  return (
    <Card title="Running now" actions={<All to="/workflows?status=running,pending" />}>
      {rows.length ? (
        <Rows rows={rows} label="Running workflows" live />
      ) : (
        <Empty title="Nothing runs" action={<Anchor component={Link} to="/submit">Submit a workflow</Anchor>} />
      )}
    </Card>
  );
}

function All({ to }: { to: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" aria-label="All of them">
      All
    </Anchor>
  );
}

function Rows({ rows, label, live = false }: { rows: readonly Summary[]; label: string; live?: boolean }) {
  return (
    <Table layout="fixed" verticalSpacing={5} aria-label={label}>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.id}>
            <Table.Td className="cut">
              <Group gap={6} wrap="nowrap">
                <StatusMark status={row.status} />
                <Link to="/workflows/$id" params={{ id: row.id }} className="row-link cut">
                  {row.name}
                </Link>
              </Group>
            </Table.Td>
            <Table.Td w={96} className="nowrap">{live ? <Progress value={row.progress} aria-label={`${row.progress}% done`} /> : <Ago at={row.end_time} />}</Table.Td>
            <Table.Td w={72} ta="right" className="nowrap">
              <Took start={row.start_time} end={row.end_time} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

const Throughput = memo(function Throughput({ buckets, hours }: Pick<Panorama, "buckets" | "hours">) {
  const total = buckets.reduce((sum, each) => sum + each.succeeded + each.failed + each.error, 0);
  const took = buckets.filter((each) => each.mean_seconds !== null);
  const mean = took.length ? took.reduce((sum, each) => sum + each.mean_seconds!, 0) / took.length : null;
  return (
    <Card title="Ended" actions={<Text size="sm" className="quiet">{total.toLocaleString("en")} · {span(mean)} on average</Text>}>
      <Chart
        label={`Workflows that ended in the last ${hours} hours: ${total}`}
        kind="bars"
        times={buckets.map((each) => Date.parse(each.at) / 1000)}
        series={[
          { label: "succeeded", values: buckets.map((each) => each.succeeded), color: "--state-succeeded" },
          { label: "failed", values: buckets.map((each) => each.failed), color: "--state-failed" },
          { label: "error", values: buckets.map((each) => each.error), color: "--state-error" },
        ]}
        format={(value) => (Number.isInteger(value) ? value.toLocaleString("en") : "")}
      />
    </Card>
  );
});
