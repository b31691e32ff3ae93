/** Where work can run, as this server is set up. */
import { call, type Schemas } from "./client";

export type SchedulerChoice = Schemas["SchedulerChoice"];

export const listSchedulers = () => call<SchedulerChoice>("/schedulers");
