/** Queues: list, status, change. */
import { call, part, type Schemas } from "./client";

export type Queue = Schemas["QueueShape"];
export type QueueStatus = Schemas["QueueStatus"];

export const listQueues = () => call<Queue[]>("/queues");
export const getQueueStatus = (id: string) => call<QueueStatus>(`/queues/${part(id)}/status`);
export const setQueueState = (id: string, state: "open" | "close") =>
  call<Queue>(`/queues/${part(id)}/${state}`, { method: "POST" });
export const changeQueue = (id: string, body: object) =>
  call<Queue>(`/queues/${part(id)}`, { method: "PATCH", body });
export const makeQueue = (body: object) => call<Queue>("/queues", { method: "POST", body });
export const removeQueue = (id: string) =>
  call<unknown>(`/queues/${part(id)}`, { method: "DELETE" });
