/** Schedules (CronWorkflows) and their backfills. */
import { call, part, type Schemas } from "./client";

export type Schedule = Schemas["Schedule"];
export type Backfill = Schemas["BackfillShape"];

const at = (schedule: Pick<Schedule, "project_id" | "name">) => `/schedules/${part(schedule.project_id)}/${part(schedule.name)}`;

export const listSchedules = () => call<Schedule[]>("/schedules");
export const makeSchedule = (project_id: string, schedule_yaml: string) =>
  call<Schedule>("/schedules", { method: "POST", body: { project_id, schedule_yaml } });
export const replaceSchedule = (schedule: Schedule, schedule_yaml: string) =>
  call<Schedule>(at(schedule), { method: "PUT", body: { schedule_yaml } });
export const removeSchedule = (schedule: Schedule) => call<unknown>(at(schedule), { method: "DELETE" });
export const setSuspended = (schedule: Schedule, suspended: boolean) =>
  call<Schedule>(`${at(schedule)}/${suspended ? "suspend" : "resume"}`, { method: "POST", body: {} });
export const runSchedule = (schedule: Schedule) =>
  call<Schemas["Submitted"]>(`${at(schedule)}/run`, { method: "POST", body: {} });
export const nextRuns = (schedule: Schedule, count: number, after?: string) =>
  call<Schemas["Slot"][]>(`${at(schedule)}/next`, { query: { count, after } });
export const listBackfills = (schedule: Schedule) => call<Backfill[]>(`${at(schedule)}/backfills`);
export const startBackfill = (schedule: Schedule, body: object) =>
  call<Backfill>(`${at(schedule)}/backfill`, { method: "POST", body });
export const cancelBackfill = (schedule: Schedule, name: string) =>
  call<Backfill>(`${at(schedule)}/backfills/${part(name)}`, { method: "DELETE" });
