/** Two runs side by side: what was asked for, and how long each part took. */
import { Group, Loader, Paper, Select, Stack, Table, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { compare, getWorkflow, listWorkflows, type Comparison, type Summary } from "../api/workflows";
import { Card, Empty, Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { StatusMark, StatusWord } from "../parts/Status";
import { instant, span } from "../parts/time";

/** The page; both runs stand in the address. */
export function ComparePage() {
  const [search, setSearch] = useAddress();
  const { a, b } = search;
  const first = useQuery({ queryKey: ["workflow", a], queryFn: () => getWorkflow(a!), enabled: Boolean(a) });
  return (
    <Page title="Compare runs">
      <Group align="flex-end">
        <RunSelect label="This run" value={a} name="" onChange={(value) => setSearch({ a: value })} />
        <RunSelect label="with this one" value={b} name={first.data?.name ?? ""} onChange={(value) => setSearch({ b: value })} />
      </Group>
      {a && b ? <Both a={a} b={b} /> : <Empty title="Choose two runs">Runs of the same name are the easiest to compare.</Empty>}
    </Page>
  );
}

interface RunSelectProps {
  label: string;
  value: string | undefined;
  /** Runs of this name come first. */
  name: string;
  onChange: (id: string) => void;
}

function RunSelect({ label, value, name, onChange }: RunSelectProps) {
  const [typed, setTyped] = useState("");
  const [wanted] = useDebouncedValue(typed.split(" · ")[0] ?? "", 200);
  const { data } = useQuery({
    queryKey: ["runs", wanted || name],
    queryFn: () => listWorkflows({ name: wanted || name }, 1, 50),
    placeholderData: (before) => before,
  });
  const known = useQuery({ queryKey: ["workflow", value], queryFn: () => getWorkflow(value!), enabled: Boolean(value) });
  const runs: Summary[] = [...(data?.items ?? [])];
  if (known.data && !runs.some((run) => run.id === value)) runs.unshift(known.data);
  return (
    <Select
      label={label}
      searchable
      w={380}
      maw="100%"
      nothingFoundMessage="No such run"
      data={runs.map((run) => ({ value: run.id, label: `${run.name} · ${instant(run.created_at)} · ${run.status}` }))}
      value={value ?? null}
      filter={({ options }) => options}
      onSearchChange={setTyped}
      onChange={(chosen) => onChange(chosen ?? "")}
    />
  );
}

function Both({ a, b }: { a: string; b: string }) {
  const { data, error } = useQuery({ queryKey: ["compare", a, b], queryFn: () => compare(a, b) });
  if (error) return <Problem error={error} />;
  if (!data) return <Loader size="sm" />;
  return (
    <Stack>
      <Heads comparison={data} />
      <Parameters comparison={data} />
      <Durations comparison={data} />
      <SpecDiff lines={data.spec_diff} />
    </Stack>
  );
}

function total(run: Summary): number | null {
  return run.start_time && run.end_time ? (Date.parse(run.end_time) - Date.parse(run.start_time)) / 1000 : null;
}

function Heads({ comparison: { a, b } }: { comparison: Comparison }) {
  return (
    <Paper withBorder p="sm" role="group" aria-label="The two runs">
      {[a, b].map((run, index) => (
        <Group key={index} gap="md" className="facts" py={2}>
          <Link to="/workflows/$id" params={{ id: run.id }} className="row-link">
            {run.name}
          </Link>
          <StatusWord status={run.status} />
          <Text size="sm" className="num">
            {instant(run.created_at)} · {span(total(run))}
          </Text>
        </Group>
      ))}
    </Paper>
  );
}

function Parameters({ comparison }: { comparison: Comparison }) {
  return (
    <Card title="Parameters">
      {comparison.parameters.length ? (
        <Table>
          <Table.Tbody>
            {comparison.parameters.map(({ name, a, b }) => (
              <Table.Tr key={name}>
                <Table.Th>{name}</Table.Th>
                <Table.Td className="wrap-anywhere diff-gone">{a ?? "–"}</Table.Td>
                <Table.Td className="wrap-anywhere diff-new">{b ?? "–"}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      ) : (
        <Text size="sm">The same.</Text>
      )}
    </Card>
  );
}

function Durations({ comparison }: { comparison: Comparison }) {
  const rows = comparison.nodes
    .map((node) => ({ ...node, change: delta(node.a?.duration, node.b?.duration) }))
    .sort((one, other) => Math.abs(other.change ?? 0) - Math.abs(one.change ?? 0))
    .slice(0, 200);
  const most = Math.max(0.001, ...rows.map((row) => Math.abs(row.change ?? 0)));
  return (
    <Card title="Node by node, the largest difference first">
      <div className="scroll-x" tabIndex={0} role="group" aria-label="Durations">
        <Table miw={520}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Node</Table.Th>
              <Table.Th>This run</Table.Th>
              <Table.Th>That run</Table.Th>
              <Table.Th>Difference</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ name, a, b, change }) => (
              <Table.Tr key={name}>
                <Table.Td className="wrap-anywhere">{name}</Table.Td>
                <Table.Td>{a ? <Side took={a} /> : "not there"}</Table.Td>
                <Table.Td>{b ? <Side took={b} /> : "not there"}</Table.Td>
                <Table.Td className="num">
                  {change === null ? "–" : `${change > 0 ? "+" : ""}${span(change)}`}
                  <span className="delta">
                    <span
                      className={(change ?? 0) > 0 ? "delta-slower" : "delta-faster"}
                      style={{ width: `${(Math.abs(change ?? 0) / most) * 100}%` }}
                    />
                  </span>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Card>
  );
}

function delta(a: number | null | undefined, b: number | null | undefined): number | null {
  return a === null || a === undefined || b === null || b === undefined ? null : b - a;
}

function Side({ took }: { took: NonNullable<Comparison["nodes"][number]["a"]> }) {
  return (
    <Group gap={6} wrap="nowrap">
      <StatusMark status={took.status} size={14} />
      <span className="num">{span(took.duration)}</span>
    </Group>
  );
}

function SpecDiff({ lines }: { lines: string[] }) {
  return (
    <Card title="Specification">
      {lines.length ? (
        <pre className="diff" tabIndex={0}>
          {lines.map((line, index) => (
            <div key={index} className={line.startsWith("+") ? "diff-new" : line.startsWith("-") ? "diff-gone" : ""}>
              {line || " "}
            </div>
          ))}
        </pre>
      ) : (
        <Text size="sm">The same.</Text>
      )}
    </Card>
  );
}
