/** One workflow: graph, timeline, events, text; a node of it beside them; what can be done with it. */
import { Anchor, Group, Loader, Paper, Progress, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";

import { LOCAL, queueName } from "../api/queues";
import { getYaml, hasEnded, type Workflow } from "../api/workflows";
import { CodeLater } from "../parts/CodeLater";
import { Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { StatusWord } from "../parts/Status";
import { Ago, Took } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { Actions } from "./Actions";
import { EventsView } from "./EventsView";
import { Failures } from "./Failures";
import { GraphView } from "./GraphView";
import { NodePanel } from "./NodePanel";
import { TimelineView } from "./TimelineView";
import { useGraph, useTimeline, useWorkflow } from "./useWorkflow";

const TABS = ["graph", "timeline", "events", "yaml"] as const;

/** The page. */
export function WorkflowPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: workflow, error, refetch, live } = useWorkflow(id);
  if (error && !workflow) {
    return (
      <Page title="Workflow">
        <Problem error={error} title="The workflow cannot be shown" onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!workflow) return <Loader size="sm" aria-label="Loading" />;
  return <Shown key={id} workflow={workflow} live={live} />;
}

function Shown({ workflow, live }: { workflow: Workflow; live: string }) {
  const [search, setSearch] = useAddress();
  const graph = useGraph(workflow.id);
  const tab = TABS.find((each) => each === search["tab"]) ?? "graph";
  const chosen = search["node"];
  const timeline = useTimeline(workflow.id, tab === "timeline" || chosen !== undefined);
  const pauses = useMemo(
    () => graph.data?.actual.nodes.filter((node) => node.type === "suspend" && node.status === "running").map(({ id }) => id) ?? [],
    [graph.data],
  );
  const choose = (node: string, panel = search["panel"] ?? "about") => setSearch({ node, panel });
  useKeys({ Escape: () => setSearch({ node: "", panel: "", wide: "" }) });
  const wide = search["wide"] === "1" && chosen !== undefined;
  return (
    <Page
      title={workflow.name}
      actions={<Actions workflow={workflow} pauses={pauses} />}
      about={<Facts workflow={workflow} live={live} />}
    >
      {workflow.status !== "succeeded" && (
        <div className="reasons">
          {workflow.message && (
            <Text size="sm" className="wrap-anywhere">
              {workflow.message}
            </Text>
          )}
          {hasEnded(workflow.status) && graph.data && <Failures workflow={workflow.id} graph={graph.data} onChoose={choose} />}
        </div>
      )}
      <div className={`split${chosen ? " split-open" : ""}${wide ? " split-wide" : ""}`}>
        <Paper withBorder className="split-main">
          <Tabs value={tab} onChange={(value) => setSearch({ tab: value === "graph" ? "" : (value ?? "") })} keepMounted={false} className="fill-tabs">
            <Tabs.List>
              <Tabs.Tab value="graph">Graph</Tabs.Tab>
              <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
              <Tabs.Tab value="events">Events</Tabs.Tab>
              <Tabs.Tab value="yaml">YAML</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="graph">
              {graph.error && <Problem error={graph.error} onRetry={() => void graph.refetch()} />}
              {graph.data && <GraphView graph={graph.data} chosen={chosen} onChoose={choose} />}
            </Tabs.Panel>
            <Tabs.Panel value="timeline">
              {timeline.error && <Problem error={timeline.error} onRetry={() => void timeline.refetch()} />}
              {timeline.data && (
                <TimelineView bars={timeline.data} graph={graph.data} live={!hasEnded(workflow.status)} chosen={chosen} onChoose={choose} />
              )}
            </Tabs.Panel>
            <Tabs.Panel value="events">
              <EventsView workflow={workflow.id} live={!hasEnded(workflow.status)} onChoose={choose} />
            </Tabs.Panel>
            <Tabs.Panel value="yaml">
              <SubmittedText workflow={workflow.id} />
            </Tabs.Panel>
          </Tabs>
        </Paper>
        {chosen && (
          <Paper withBorder className="split-side">
            <NodePanel
              workflow={workflow.id}
              node={chosen}
              bar={timeline.data?.find((bar) => bar.id === chosen)}
              over={hasEnded(workflow.status)}
              tab={search["panel"] ?? "about"}
              wide={wide}
              onTab={(panel) => setSearch({ panel })}
              onWide={() => setSearch({ wide: wide ? "" : "1" })}
              onChoose={choose}
              onClose={() => setSearch({ node: "", panel: "", wide: "" })}
            />
          </Paper>
        )}
      </div>
    </Page>
  );
}

function Facts({ workflow, live }: { workflow: Workflow; live: string }) {
  const runs = !hasEnded(workflow.status);
  return (
    <Group gap="md" className="facts" aria-live="polite">
      <StatusWord status={workflow.suspended && runs ? "suspended" : workflow.status} />
      {runs && <Progress value={workflow.progress} w={90} aria-label={`${workflow.progress}% done`} />}
      <Text size="sm" component="span">
        <Took start={workflow.start_time} end={workflow.end_time} />
        {runs && workflow.estimated_end_time && (
          <span className="quiet">
            {" "}
            · ends <Ago at={workflow.estimated_end_time} />
          </span>
        )}
      </Text>
      <Text size="sm" className="quiet" component="span">
        made <Ago at={workflow.created_at} /> by {workflow.created_by || "somebody"}
      </Text>
      <Text size="sm" component="span">
        <Anchor component={Link} to={`/workflows?project=${encodeURIComponent(workflow.project_id)}`} size="sm">
          {workflow.project_id}
        </Anchor>
        {workflow.queue_id && (
          <>
            {" · "}
            <Anchor component={Link} to={`/queues?queue=${encodeURIComponent(workflow.queue_id)}`} size="sm">
              {queueName(workflow.queue_id)}
            </Anchor>
          </>
        )}
        {` · priority ${workflow.priority}`}
        {workflow.scheduler !== LOCAL && ` · ${workflow.scheduler}`}
      </Text>
      {runs && live === "lost" && (
        <Text size="sm" c="red" component="span">
          connection lost, trying again
        </Text>
      )}
      {workflow.description && (
        <Text size="sm" component="span" className="wrap-anywhere">
          {workflow.description}
        </Text>
      )}
      <Given parameters={workflow.parameters} />
    </Group>
  );
}

/** What the run was given; a long value whole on hover. */
function Given({ parameters }: Pick<Workflow, "parameters">) {
  return Object.entries(parameters).map(([name, value]) => (
    <span key={name} className="given" title={`${name}: ${value ?? ""}`}>
      <span className="quiet">{name}</span> <span className="mono">{value ?? "–"}</span>
    </span>
  ));
}

function SubmittedText({ workflow }: { workflow: string }) {
  const { data, error } = useQuery({ queryKey: ["yaml", workflow], queryFn: () => getYaml(workflow), staleTime: Infinity });
  if (error) return <Problem error={error} />;
  return data === undefined ? <Loader m="md" size="sm" /> : <CodeLater text={data} label="The workflow as submitted" />;
}
