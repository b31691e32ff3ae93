import { expect, it } from "vitest";

import { dayStart, monthAfter, monthOf, slotOf } from "./calendar";

it("lays a month out in weeks from Monday on", () => {
  const weeks = monthOf("2026-11", ["2026-11-15T23:30:00Z"], [], "UTC");

  expect(weeks).toHaveLength(6);
  expect(weeks[0]![0]!.date).toBe("2026-10-26");
  expect(weeks[2]![6]).toMatchObject({ date: "2026-11-15", slots: 1, inMonth: true });
});

it("counts slots and runs on the days of the zone", () => {
  const runs = [{ status: "failed", slot: Date.parse("2026-11-15T23:30:00Z") }];

  const days = monthOf("2026-11", ["2026-11-15T23:30:00Z"], runs, "Europe/Berlin").flat();

  expect(days.find((day) => day.date === "2026-11-16")).toMatchObject({ slots: 1, runs: { failed: 1 } });
});

it("goes over the end of a year", () => {
  expect(monthAfter("2026-12", 1)).toBe("2027-01");
  expect(monthAfter("2026-01", -1)).toBe("2025-12");
});

it("reads the slot out of a workflow's name", () => {
  expect(slotOf("nightly-1763168400", "nightly")).toBe(1_763_168_400_000);
  expect(slotOf("nightly-abcde", "nightly")).toBeNull();
  expect(slotOf("other-1763168400", "nightly")).toBeNull();
});

it("knows when days begin where the clock changes", () => {
  expect(dayStart("2026-03-29", "Europe/Berlin")).toBe("2026-03-28T23:00:00.000Z");
  expect(dayStart("2026-03-29", "Europe/Berlin", 1)).toBe("2026-03-29T22:00:00.000Z");
  expect(dayStart("2026-01-01", "UTC")).toBe("2026-01-01T00:00:00.000Z");
});
