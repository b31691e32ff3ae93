/** What a form for submitting makes of a workflow and what was typed. Pure. */
import type { Mistake } from "../api/client";
import type { Simulation, Submission } from "./api";
import type { DocumentModel, Parameter } from "./model/read";

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

export interface Typed {
  readonly name: string;
  readonly project: string;
  readonly queue: string | null;
  /** As the server decides, where none is named. */
  readonly scheduler: string | null;
  /** Empty for that of the workflow's own text. */
  readonly priority: string;
  readonly description: string;
  readonly cpu: string;
  readonly memory: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Give the queues that a workflow for this scheduler can wait in: open ones, and of no other's. */
export function queuesFor<Q extends { scheduler: string; status: string }>(queues: readonly Q[], scheduler: string | undefined): Q[] {
  return queues.filter((each) => each.status === "open" && (scheduler === undefined || each.scheduler === scheduler));
}

/** Suggest a name: that of the workflow, as far as it can be one. */
export function nameFor(document: DocumentModel | undefined): string {
  const given = (document?.name ?? "").toLowerCase().replaceAll(/[^-a-z0-9.]/g, "-");
  const trimmed = given.slice(0, 63).replaceAll(/^[-.]+|[-.]+$/g, "");
  return trimmed || "workflow";
}

/** Say what is wrong with the fields, before the server is asked. */
export function faultsOf(typed: Typed, parameters: readonly Parameter[]): Record<string, string> {
  const faults: Record<string, string> = {};
  if (!NAME.test(typed.name)) faults["name"] = "1 to 63 of a-z, 0-9, - and ., a letter or digit at both ends";
  if (!typed.project) faults["project_id"] = "choose one";
  if (!isPriority(typed.priority)) faults["priority"] = "one of the words, or a whole number";
  for (const each of parameters) {
    if (isMissing(each, typed.parameters)) faults[`parameters.${each.name}`] = "needs a value";
  }
  return faults;
}

function isPriority(text: string): boolean {
  return text === "" || (PRIORITIES as readonly string[]).includes(text) || /^-?\d{1,9}$/.test(text);
}

function isMissing(parameter: Parameter, typed: Readonly<Record<string, string>>): boolean {
  const known = parameter.value !== undefined || parameter.fallback !== undefined || parameter.fromElsewhere;
  return !known && !(parameter.name in typed);
}

/**
 * Give the parameters that differ from what the workflow says itself. A default is a suggestion of the
 * form: a run needs a value, so it is sent like one that was typed.
 */
export function changedParameters(typed: Typed, parameters: readonly Parameter[]): Record<string, string> {
  const pairs = parameters.flatMap(({ name, value, fallback, fromElsewhere }) => {
    const sent = typed.parameters[name] ?? value ?? (fromElsewhere ? undefined : fallback);
    return sent === undefined || sent === value ? [] : [[name, sent] as const];
  });
  return Object.fromEntries(pairs);
}

/** Give the priority as the server takes it: a number or one of the words; null for that of the text. */
export function priorityOf({ priority }: Typed): string | number | null {
  if (priority === "") return null;
  return /^-?\d+$/.test(priority) ? Number(priority) : priority;
}

export function submissionOf(typed: Typed, text: string, parameters: readonly Parameter[]): Submission {
  return {
    name: typed.name,
    project_id: typed.project,
    workflow_yaml: text,
    scheduler: typed.scheduler,
    queue_id: typed.queue,
    description: typed.description,
    priority: priorityOf(typed),
    parameters: changedParameters(typed, parameters),
    estimated_cpu: typed.cpu.trim() || null,
    estimated_memory: typed.memory.trim() || null,
  };
}

/** Tell apart the mistakes of fields from those of the text. */
export function sortMistakes(mistakes: readonly Mistake[]): { fields: Record<string, string>; text: Mistake[] } {
  const fields: Record<string, string> = {};
  const text: Mistake[] = [];
  for (const each of mistakes) {
    if (each.line !== null && each.line !== undefined) text.push(each);
    else fields[each.path] = each.message;
  }
  return { fields, text };
}

export interface Row {
  readonly name: string;
  readonly ready: number;
  readonly start: number;
  readonly end: number;
}

/** Give the bars of a simulation in the order of their starts. */
export function rowsOf(simulation: Simulation): Row[] {
  const rows = simulation.gantt.map(({ id, workflow, ready, start, end }) => ({
    name: id.replace(`${workflow}/`, "").replace(new RegExp(`^${escaped(workflow)}[.]?`), "") || workflow,
    ready,
    start,
    end,
  }));
  return rows.sort((a, b) => a.start - b.start || a.end - b.end || a.name.localeCompare(b.name));
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Make a key that names one submission. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}
