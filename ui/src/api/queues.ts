/** Queues: list, status, change. */
import { call, part, type Schemas } from "./client";

export type Queue = Schemas["QueueShape"];
export type QueueStatus = Schemas["QueueStatus"];

/** The scheduler whose queues are the server's own. */
export const LOCAL = "local";
/** One whose queues have neither guarantee nor capability, and cohorts above them. */
export const KUEUE = "kueue";

/** Give the name of a queue, and whose it is where it is not the server's own: names may meet. */
export function queueLabel({ name, scheduler }: Pick<Queue, "name" | "scheduler">): string {
  return scheduler === LOCAL ? name : `${name} · ${scheduler}`;
}

/** Give the same of an id: `q-batch`, `q-volcano:batch`. */
export function queueName(id: string): string {
  const [, whose, name] = /^(?:q-)?(?:([^:]*):)?(.*)$/.exec(id) ?? [];
  return queueLabel({ name: name ?? id, scheduler: whose ?? LOCAL });
}

export const listQueues = () => call<Queue[]>("/queues");
export const getQueueStatus = (id: string) => call<QueueStatus>(`/queues/${part(id)}/status`);
export const setQueueState = (id: string, state: "open" | "close") =>
  call<Queue>(`/queues/${part(id)}/${state}`, { method: "POST" });
export const changeQueue = (id: string, body: object) =>
  call<Queue>(`/queues/${part(id)}`, { method: "PATCH", body });
export const makeQueue = (body: object) => call<Queue>("/queues", { method: "POST", body });
export const removeQueue = (id: string) =>
  call<unknown>(`/queues/${part(id)}`, { method: "DELETE" });
