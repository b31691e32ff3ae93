/** Why a workflow failed: the nodes that did, with their own words; a click leads to their logs. */
import { Anchor, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { getNode, type Graph, type Node } from "../api/workflows";
import { failedOf } from "./failed";

/** So many are named; the others are counted. */
const NAMED = 3;

interface FailuresProps {
  workflow: string;
  graph: Graph;
  onChoose: (node: string, panel: string) => void;
}

/** The list; the workflow's own message names nodes by their ids only. */
export function Failures({ workflow, graph, onChoose }: FailuresProps) {
  const failed = useMemo(() => failedOf(graph), [graph]);
  const answers = useQueries({
    queries: failed.slice(0, NAMED).map((id) => ({ queryKey: ["node", workflow, id], queryFn: () => getNode(workflow, id) })),
  });
  const nodes = answers.map(({ data }) => data).filter((node): node is Node => node !== undefined);
  if (!nodes.length) return null;
  return (
    <div role="group" aria-label="What failed">
      {nodes.map((node) => (
        <Text size="sm" key={node.id} className="wrap-anywhere">
          <Anchor component="button" type="button" size="sm" onClick={() => onChoose(node.id, "log")}>
            {node.display_name}
          </Anchor>{" "}
          {node.message || node.status}
        </Text>
      ))}
      {failed.length > NAMED && (
        <Text size="sm" className="quiet">
          and {(failed.length - NAMED).toLocaleString("en")} more
        </Text>
      )}
    </div>
  );
}
