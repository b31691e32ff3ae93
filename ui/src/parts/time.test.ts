import { describe, expect, it } from "vitest";

import { ago, between, bytes, span } from "./time";

describe("span", () => {
  it.each([
    [0, "0s"],
    [-0.0001, "0s"],
    [0.038, "38ms"],
    [-0.004, "-4ms"],
    [0.0996, "0.1s"],
    [0.44, "0.4s"],
    [9.96, "10s"],
    [59.4, "59s"],
    [60, "1m"],
    [184, "3m 4s"],
    [7500, "2h 5m"],
    [3 * 86_400 + 4 * 3600, "3d 4h"],
    [-5, "-5.0s"],
    [null, "–"],
  ])("writes %s as %s", (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });
});

describe("ago", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");

  it.each([
    ["2026-11-15T11:59:59Z", "now"],
    ["2026-11-15T11:59:53Z", "7s ago"],
    ["2026-11-15T11:56:00Z", "4m ago"],
    ["2026-11-15T12:05:00Z", "in 5m"],
    ["2026-11-13T10:00:00Z", "2d ago"],
  ])("writes %s as %s", (at, text) => {
    expect(ago(at, now)).toBe(text);
  });
});

describe("between", () => {
  it("counts up to now while something runs", () => {
    expect(between("2026-11-15T12:00:00Z", null, Date.parse("2026-11-15T12:00:30Z"))).toBe(30);
    expect(between(null, null, 0)).toBeNull();
  });
});

describe("bytes", () => {
  it.each([
    [0, "0 B"],
    [1536, "1.5 KiB"],
    [200 * 1024 * 1024, "200 MiB"],
  ])("writes %i as %s", (count, text) => {
    expect(bytes(count)).toBe(text);
  });
});
