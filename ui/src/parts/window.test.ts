import { describe, expect, it } from "vitest";

import { MAX_TRACK, pagesOf, scrollTo, windowOf } from "./window";

describe("windowOf", () => {
  it("shows the first rows at the top", () => {
    const seen = windowOf(0, 400, 1000, 40);

    expect(seen).toMatchObject({ first: 0, count: 16, offset: 0, track: 40_000 });
  });

  it("draws rows where they belong while the track is not scaled", () => {
    const seen = windowOf(4000, 400, 1000, 40);

    expect(seen.offset).toBeCloseTo(seen.first * 40);
    expect(seen.first).toBeLessThanOrEqual(100);
    expect(seen.first + seen.count).toBeGreaterThanOrEqual(110);
  });

  it("reaches the last of five million rows on a scaled track", () => {
    const total = 5_000_000;

    const seen = windowOf(MAX_TRACK - 400, 400, total, 40);

    expect(seen.track).toBe(MAX_TRACK);
    expect(seen.first + seen.count).toBe(total);
    expect(seen.offset + seen.count * 40).toBeCloseTo(MAX_TRACK);
  });

  it("shows nothing of an empty list", () => {
    expect(windowOf(0, 400, 0, 40)).toMatchObject({ first: 0, count: 0, track: 0 });
  });
});

describe("scrollTo", () => {
  it.each([0, 1, 9, 10, 500_000, 999_999])("brings row %i of a million into view", (index) => {
    const at = scrollTo(index, 1_000_000, 400, 1_000_000, 40);

    const seen = windowOf(at, 400, 1_000_000, 40, 0);
    expect(index).toBeGreaterThanOrEqual(seen.first);
    expect(index).toBeLessThan(seen.first + seen.count);
  });

  it("stays where the row is in view already", () => {
    expect(scrollTo(5, 0, 400, 1000, 40)).toBe(0);
  });
});

describe("pagesOf", () => {
  it("lists every page that is touched", () => {
    expect(pagesOf(0, 10, 100)).toEqual([1]);
    expect(pagesOf(95, 10, 100)).toEqual([1, 2]);
    expect(pagesOf(100, 100, 100)).toEqual([2]);
    expect(pagesOf(0, 0, 100)).toEqual([1]);
  });
});
