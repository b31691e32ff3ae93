/** What the editor and the form ask of the server. */
import { call, type Mistake, type Schemas } from "../api/client";
import type { Schema } from "./model/schema";

export type Report = Schemas["Report"];
export type SimulatedTask = Schemas["SimulatedTask"];
export type Submitted = Schemas["Submitted"];

export interface Simulation {
  report: {
    makespan: number;
    lower_bound: number;
    stuck: Record<string, unknown>;
    warnings: string[];
    queues: Record<string, { tasks: number; wait_max: number }>;
  };
  gantt: SimulatedTask[];
}

export interface Submission {
  name: string;
  project_id: string;
  workflow_yaml: string;
  /** As the server decides, where none is named. */
  scheduler: string | null;
  queue_id: string | null;
  description: string;
  priority: string | number | null;
  parameters: Record<string, string>;
  estimated_cpu: string | null;
  estimated_memory: string | null;
}

export const lint = (text: string, signal?: AbortSignal) =>
  call<{ valid: boolean; problems: Mistake[] }>("/workflows/lint", {
    method: "POST",
    body: { workflow_yaml: text },
    signal,
  });

export interface Question {
  workflow_yaml: string;
  project_id: string;
  parameters: Record<string, string>;
  default_seconds: number;
  /** Leave out what waits and runs now. */
  idle: boolean;
  queue_id: string | null;
  priority: string | number | null;
}

export const simulate = (body: Question) =>
  call<Simulation>("/workflows/simulate", { method: "POST", body });

/** Submit once: the same key never makes a second workflow, whatever the network does. */
export const submit = (body: Submission, key: string) =>
  call<Submitted>("/workflows", { method: "POST", body, headers: { "Idempotency-Key": key } });

export const getSchema = () => call<Schema>("/schema");
