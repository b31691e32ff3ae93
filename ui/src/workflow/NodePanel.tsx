/** One node: how it is, why it waits, what went in and came out, what it used, its log. */
import { ActionIcon, Button, CloseButton, Group, Stack, Table, Tabs, Text, Title, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { getEvents, getExplain, getNode, hasEnded, type Bar, type Node } from "../api/workflows";
import { Icon } from "../parts/Icon";
import { Problem } from "../parts/Problem";
import { StatusWord } from "../parts/Status";
import { Ago, At, Took } from "../parts/Time";
import { between, bytes, exactClock, instant, span } from "../parts/time";
import { Artifact } from "./Artifact";
import { isStructure } from "./gantt";
import { LogView } from "./LogView";
import { RunAgain } from "./RunAgain";
import { storyOf } from "./story";

interface NodePanelProps {
  workflow: string;
  node: string;
  bar: Bar | undefined;
  /** Whether the workflow has ended: then nodes of it can be run again. */
  over: boolean;
  tab: string;
  wide: boolean;
  onTab: (tab: string) => void;
  onWide: () => void;
  onChoose: (node: string) => void;
  onClose: () => void;
}

/** The panel. */
export function NodePanel({ workflow, node: id, bar, over, tab, wide, onTab, onWide, onChoose, onClose }: NodePanelProps) {
  const { data: node, error } = useQuery({
    queryKey: ["node", workflow, id],
    queryFn: () => getNode(workflow, id),
    refetchInterval: (query) => (query.state.data && hasEnded(query.state.data.status) ? false : 2000),
  });
  const logs = node !== undefined && (!isStructure(node.type) || node.type === "retry") && node.type !== "suspend";
  return (
    <aside className="panel" aria-label="Node">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Title order={2} size="h5" className="cut" title={node?.name}>
          {node?.display_name ?? "…"}
        </Title>
        <Group gap={4} wrap="nowrap">
          <Tooltip label={wide ? "Narrower" : "Wider"}>
            <ActionIcon variant="subtle" color="gray" aria-label={wide ? "Narrower panel" : "Wider panel"} onClick={onWide} visibleFrom="md">
              <Icon name="expand" size={16} />
            </ActionIcon>
          </Tooltip>
          <CloseButton aria-label="Close the node" onClick={onClose} />
        </Group>
      </Group>
      {error !== null && <Problem error={error} title="The node cannot be shown" />}
      {node && (
        <>
          <Group gap="md" mt={4}>
            <StatusWord status={node.status} />
            <Text size="sm" className="quiet">
              {node.type}
            </Text>
            {node.status !== "pending" && (
              <Text size="sm">
                <Took start={node.start_time} end={node.end_time} />
              </Text>
            )}
          </Group>
          {node.message && (
            <Text size="sm" mt={4} className="wrap-anywhere">
              {node.message}
            </Text>
          )}
          <Tabs value={logs ? tab : tab === "log" ? "about" : tab} onChange={(value) => onTab(value ?? "about")} className="panel-tabs" keepMounted={false} mt="xs">
            <Tabs.List>
              <Tabs.Tab value="about">About</Tabs.Tab>
              {logs && <Tabs.Tab value="log">Log</Tabs.Tab>}
              <Tabs.Tab value="io">In and out</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="about" pt="sm" className="panel-body">
              <About workflow={workflow} node={node} bar={bar} onChoose={onChoose} />
              {over && hasEnded(node.status) && !isStructure(node.type) && <RunAgain workflow={workflow} node={node} onDone={onClose} />}
            </Tabs.Panel>
            {logs && (
              <Tabs.Panel value="log" pt="sm" className="panel-body panel-log">
                <LogView workflow={workflow} node={node.id} name={node.name} />
              </Tabs.Panel>
            )}
            <Tabs.Panel value="io" pt="sm" className="panel-body">
              <Sides workflow={workflow} node={node} />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </aside>
  );
}

interface AboutProps {
  workflow: string;
  node: Node;
  bar: Bar | undefined;
  onChoose: (node: string) => void;
}

function About({ workflow, node, bar, onChoose }: AboutProps) {
  const waits = node.status === "pending";
  const waited = bar?.queued_at ? between(bar.queued_at, waits ? null : bar.start_time, Date.now()) : null;
  return (
    <Stack gap="sm">
      {waits && <Waiting workflow={workflow} node={node} />}
      <Facts
        rows={[
          ["Template", node.template],
          ["Waited", waited === null ? null : span(waited)],
          ["Started", !waits && node.start_time && <At at={node.start_time} />],
          ["Ended", node.end_time && <At at={node.end_time} />],
          ["CPU", cpuText(node)],
          ["Memory", memoryText(node)],
          ["Exit code", exitCode(node)],
          ["Id", <span className="mono wrap-anywhere">{node.id}</span>],
        ]}
      />
      {node.type === "retry" && node.children.length > 0 && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            Attempts
          </Text>
          <Group gap={4}>
            {node.children.map((child, index) => (
              <Button key={child} size="compact-xs" variant="default" onClick={() => onChoose(child)}>
                Attempt {index + 1}
              </Button>
            ))}
          </Group>
        </Stack>
      )}
      <NodeEvents workflow={workflow} node={node} bar={bar} />
    </Stack>
  );
}

/** What happened to this node: its own instants, and what is on record of it. */
function NodeEvents({ workflow, node, bar }: { workflow: string; node: Node; bar: Bar | undefined }) {
  const { data = [] } = useQuery({
    queryKey: ["events", workflow],
    queryFn: () => getEvents(workflow),
    refetchInterval: hasEnded(node.status) ? false : 3000,
  });
  const story = storyOf(node, bar, data);
  if (!story.length) return null;
  return (
    <section aria-label="Events of the node">
      <Text size="sm" fw={600}>
        Events
      </Text>
      <Facts first={112} rows={story.map(({ at, text }) => [<time dateTime={at} title={instant(at)} className="num">{exactClock(at)}</time>, text])} />
    </section>
  );
}

function Waiting({ workflow, node }: { workflow: string; node: Node }) {
  const { data } = useQuery({
    queryKey: ["explain", workflow],
    queryFn: () => getExplain(workflow),
    refetchInterval: 3000,
  });
  const why = data?.find((each) => each.node_id === node.id || each.name === node.name);
  return (
    <div className="waiting">
      <Text size="sm" fw={600}>
        Waiting: {why?.reason ?? node.waiting_for ?? "for its turn"}
      </Text>
      <Text size="sm">
        Expected start: {why?.expected_start ? <Ago at={why.expected_start} /> : "not known"}
      </Text>
    </div>
  );
}

function cpuText(node: Node): string | null {
  if (!node.cpu && !node.cpu_used) return null;
  const seconds = node.duration ?? 0;
  const share = seconds > 0.05 ? `, ${(node.cpu_used / seconds).toFixed(2)} cores on average` : "";
  return `${node.cpu_used.toFixed(2)} s used${share}${node.cpu ? ` of ${node.cpu} asked for` : ""}`;
}

function memoryText(node: Node): string | null {
  if (!node.memory && !node.memory_used) return null;
  const used = node.memory_used ? `${bytes(node.memory_used)} at most` : "not measured";
  return node.memory ? `${used}, of ${bytes(node.memory)} asked for` : used;
}

function exitCode(node: Node): string | null {
  const code = node.outputs?.["exitCode"];
  return typeof code === "string" ? code : null;
}

function Facts({ rows, first = 90 }: { rows: [React.ReactNode, React.ReactNode][]; first?: number }) {
  return (
    <Table layout="fixed" verticalSpacing={3} horizontalSpacing={4} withRowBorders={false}>
      <Table.Tbody>
        {rows
          .filter(([, value]) => value)
          .map(([name, value], index) => (
            <Table.Tr key={index}>
              <Table.Th w={first} className="quiet fact">
                {name}
              </Table.Th>
              <Table.Td className="wrap-anywhere">{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

interface Named {
  name: string;
  value?: unknown;
}

function listed(side: Node["inputs"], field: string): Named[] {
  const found = side?.[field];
  return Array.isArray(found) ? (found as Named[]) : [];
}

function Sides({ workflow, node }: { workflow: string; node: Node }) {
  const sides = [
    ["Inputs", node.inputs],
    ["Outputs", node.outputs],
  ] as const;
  const result = node.outputs?.["result"];
  const empty = sides.every(([, side]) => !listed(side, "parameters").length && !listed(side, "artifacts").length);
  if (empty && typeof result !== "string") return <Text size="sm">Nothing goes in and nothing comes out.</Text>;
  return (
    <Stack gap="md">
      {sides.map(([title, side]) => (
        <Side key={title} title={title} side={side} workflow={workflow} node={node.id} />
      ))}
      {typeof result === "string" && (
        <div>
          <Text size="sm" fw={600}>
            Result
          </Text>
          <pre className="value">{result}</pre>
        </div>
      )}
    </Stack>
  );
}

function Side({ title, side, workflow, node }: { title: string; side: Node["inputs"]; workflow: string; node: string }) {
  const parameters = listed(side, "parameters");
  const artifacts = listed(side, "artifacts");
  if (!parameters.length && !artifacts.length) return null;
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      {parameters.length > 0 && (
        <Facts rows={parameters.map(({ name, value }) => [name, <pre className="value">{String(value ?? "–")}</pre>])} />
      )}
      <Stack gap={4}>
        {artifacts.map(({ name }) => (
          <Artifact key={name} workflow={workflow} node={node} name={name} />
        ))}
      </Stack>
    </div>
  );
}
