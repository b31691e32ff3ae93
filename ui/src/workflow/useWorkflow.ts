/** One workflow, kept up to date through the WebSocket until it ends. */
import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { watchWorkflow, type LiveState, type NodeChange, type Update } from "../api/live";
import { getGraph, getTimeline, getWorkflow, hasEnded, type Graph, type Workflow } from "../api/workflows";
import { fold, foldWorkflow } from "./live";

/** Changes are shown together this often, however many there are. */
const FLUSH = 250;
const SLOW = 1500;

/** Give the workflow itself and how its stream is doing. */
export function useWorkflow(id: string) {
  const queries = useQueryClient();
  const [live, setLive] = useState<LiveState>("connecting");
  const answer = useQuery({ queryKey: ["workflow", id], queryFn: ({ signal }) => getWorkflow(id, signal) });
  const ended = answer.data ? hasEnded(answer.data.status) : undefined;
  useEffect(() => {
    if (ended !== false) return;
    return follow(id, queries, setLive);
  }, [id, ended]);
  return { ...answer, live: ended ? ("ended" as const) : live };
}

/** Give plan and nodes. */
export function useGraph(id: string, enabled = true) {
  return useQuery({ queryKey: ["graph", id], queryFn: () => getGraph(id), enabled, staleTime: Infinity });
}

/** Give the bars of the Gantt chart. */
export function useTimeline(id: string, enabled = true) {
  return useQuery({ queryKey: ["timeline", id], queryFn: () => getTimeline(id), enabled });
}

/** Fold what the stream tells into the cache, a few times a second. */
function follow(id: string, queries: QueryClient, onState: (state: LiveState) => void): () => void {
  const gathered = new Map<string, NodeChange>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let askedAt = 0;

  function onUpdate(update: Update): void {
    for (const change of update.nodes) gathered.set(change.id, { ...gathered.get(change.id), ...change });
    const final = hasEnded(update.status);
    queries.setQueryData<Workflow>(["workflow", id], (before) => foldWorkflow(before, update));
    if (final) finish();
    else timer ??= setTimeout(flush, FLUSH);
  }

  function flush(): void {
    timer = undefined;
    let stale = false;
    queries.setQueryData<Graph>(["graph", id], (before) => {
      if (!before) return before;
      const { graph, missing } = fold(before, gathered);
      stale = missing;
      return graph;
    });
    const moved = gathered.size > 0;
    gathered.clear();
    if (!moved) return;
    void queries.invalidateQueries({ queryKey: ["node", id] });
    if (stale || Date.now() - askedAt > SLOW) {
      askedAt = Date.now();
      if (stale) void queries.invalidateQueries({ queryKey: ["graph", id] });
      void queries.invalidateQueries({ queryKey: ["timeline", id] });
      void queries.invalidateQueries({ queryKey: ["explain", id] });
    }
  }

  function finish(): void {
    for (const name of ["workflow", "graph", "timeline", "explain", "events", "node"]) {
      void queries.invalidateQueries({ queryKey: [name, id] });
    }
  }

  const stop = watchWorkflow(id, { onUpdate, onState });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
