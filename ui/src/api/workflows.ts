/** Workflows: list, show, change. */
import { call, callPage, callText, part, type Query, type Schemas } from "./client";

export type Summary = Schemas["Summary"];
export type Workflow = Schemas["Workflow"];
export type Node = Schemas["Node"];
export type Status = Workflow["status"];
export type Bar = Schemas["Bar"];
export type Graph = Schemas["Graph"];
export type Why = Schemas["Why"];
export type WorkflowEvent = Schemas["Event"];

export const STATUSES: readonly Status[] = ["pending", "running", "succeeded", "failed", "error"];

/** Tell whether nothing more will happen. */
export function hasEnded(status: string): boolean {
  return ["succeeded", "failed", "error", "skipped", "omitted", "daemoned"].includes(status);
}

/** Filters of the list, as the server names them. */
export interface Filters {
  project_id?: string;
  status?: readonly string[];
  queue_id?: string;
  name?: string;
  created_after?: string;
  created_before?: string;
  sort?: string;
}

export const listWorkflows = (filters: Filters, page: number, limit: number, signal?: AbortSignal) =>
  callPage<Summary>("/workflows", { query: { ...(filters as Query), page, limit }, signal });

export const getWorkflow = (id: string, signal?: AbortSignal) =>
  call<Workflow>(`/workflows/${part(id)}`, { signal });

export const getNode = (id: string, node: string) =>
  call<Node>(`/workflows/${part(id)}/nodes/${part(node)}`);

export const getGraph = (id: string) => call<Graph>(`/workflows/${part(id)}/graph`);
export const getTimeline = (id: string) => call<Bar[]>(`/workflows/${part(id)}/timeline`);
export const getExplain = (id: string) => call<Why[]>(`/workflows/${part(id)}/explain`);
export const getYaml = (id: string) => callText(`/workflows/${part(id)}/yaml`);
export const getEvents = (id: string, after = 0) =>
  call<WorkflowEvent[]>(`/workflows/${part(id)}/events`, { query: { after, limit: 1000 } });

export type Action = "stop" | "terminate" | "suspend" | "resume" | "retry" | "resubmit";

/** Do something with a workflow; gives it back, or the new one. */
export const act = (id: string, action: Action, body: object = {}) =>
  call<Summary>(`/workflows/${part(id)}/${action}`, { method: "POST", body });

/** Remove a workflow with its logs and artifacts. */
export const purge = (id: string) =>
  call<unknown>(`/workflows/${part(id)}`, { method: "DELETE", query: { purge: true } });

/** What two runs differ in. */
export interface Comparison {
  a: Summary;
  b: Summary;
  spec_diff: string[];
  parameters: { name: string; a: string | null; b: string | null }[];
  nodes: { name: string; a: Took | null; b: Took | null }[];
}

/** A node of one side of a comparison. */
export interface Took {
  id: string;
  status: string;
  duration: number | null;
}

export const compare = (a: string, b: string) =>
  call<Comparison>("/workflows/compare", { query: { a, b } });
