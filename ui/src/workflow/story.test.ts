import { expect, it } from "vitest";

import type { Bar, Node, WorkflowEvent } from "../api/workflows";
import { storyOf } from "./story";

const at = (second: number) => `2026-11-15T12:00:0${second}Z`;
const NODE = { id: "n-1", name: "flow.load", status: "failed", start_time: at(1), end_time: at(6), message: "exit code 3" } as Node;
const BAR = { id: "n-1", queued_at: at(1), start_time: at(3) } as Bar;
const EVENTS = [
  { number: 2, at: at(4), kind: "Preempted", node: "n-1", text: "stopped to make room for others" },
  { number: 3, at: at(5), kind: "Preempted", node: "n-2", text: "of another node" },
  { number: 1, at: at(0), kind: "submit", node: "", text: "of the workflow" },
] as WorkflowEvent[];

it("tells the life of a node in the order in which it happened", () => {
  expect(storyOf(NODE, BAR, EVENTS).map(({ text }) => text)).toEqual([
    "queued",
    "started",
    "stopped to make room for others",
    "failed: exit code 3",
  ]);
});

it("knows no start of a node that waits", () => {
  const waiting = { ...NODE, status: "pending", end_time: null } as Node;

  expect(storyOf(waiting, BAR, []).map(({ text }) => text)).toEqual(["queued"]);
});
