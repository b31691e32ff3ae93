import { expect, it } from "vitest";

import { countText, filtersOf, isFiltered } from "./filters";

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

it.each([
  [0, false, "0 workflows"],
  [1, false, "1 workflow"],
  [1_000_000, false, "1,000,000 workflows"],
  [10_000, true, "10,000+ workflows"],
])("counts %i (at least: %s) as %s", (total, atLeast, text) => {
  expect(countText(total, atLeast)).toBe(text);
});

it("tells whether anything is filtered out", () => {
  expect(isFiltered({ sort: "oldest" })).toBe(false);
  expect(isFiltered({ queue: "q-a" })).toBe(true);
});
