/** The filters of the list, as its address holds them. Pure. */
import { STATUSES, type Filters } from "../api/workflows";
import type { Search } from "../parts/search";

/** Spans of time that can be chosen, in hours. */
export const SPANS: Readonly<Record<string, number>> = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720 };

/** Read the filters; what makes no sense is left out. `now` is rounded so that answers can be kept. */
export function filtersOf(search: Search, now: number): Filters {
  const status = (search["status"] ?? "").split(",").filter((each) => STATUSES.some((one) => one === each));
  const hours = SPANS[search["since"] ?? ""];
  const minute = Math.floor(now / 60_000) * 60_000;
  return {
    name: search["name"],
    status: status.length ? status : undefined,
    project_id: search["project"],
    queue_id: search["queue"],
    created_after: hours ? new Date(minute - hours * 3_600_000).toISOString() : undefined,
    sort: search["sort"] === "oldest" ? "created_at" : undefined,
  };
}

/** Write how many there are: `1,200+ workflows` while only so many are counted. */
export function countText(total: number, atLeast: boolean): string {
  return `${total.toLocaleString("en")}${atLeast ? "+" : ""} workflow${total === 1 && !atLeast ? "" : "s"}`;
}

/** Tell whether anything is filtered out. */
export function isFiltered(search: Search): boolean {
  return ["name", "status", "project", "queue", "since"].some((name) => Boolean(search[name]));
}
