/** How things are and have been lately. */
import { call, type Schemas } from "./client";

export type Overview = Schemas["Overview"];

export const getOverview = (hours: number, buckets: number) =>
  call<Overview>("/overview", { query: { hours, buckets } });
