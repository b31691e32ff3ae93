import { expect, it } from "vitest";

import { filtersOf, isFiltered } from "./filters";

const NOW = Date.parse("2026-11-15T12:00:30Z");

it("reads what the address says and drops what makes no sense", () => {
  const filters = filtersOf({ status: "failed,bogus,error", name: "x", since: "24h", sort: "oldest" }, NOW);

  expect(filters).toEqual({
    name: "x",
    status: ["failed", "error"],
    project_id: undefined,
    queue_id: undefined,
    created_after: "2026-11-14T12:00:00.000Z",
    sort: "created_at",
  });
});

it("tells whether anything is filtered out", () => {
  expect(isFiltered({ sort: "oldest" })).toBe(false);
  expect(isFiltered({ queue: "q-a" })).toBe(true);
});
