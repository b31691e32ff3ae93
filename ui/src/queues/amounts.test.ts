import { expect, it } from "vitest";

import { queueName } from "../api/queues";
import { amount, asTree, metersOf } from "./amounts";

it.each([
  ["500m", 0.5],
  ["2", 2],
  ["2Gi", 2 * 2 ** 30],
  ["1.5k", 1500],
  ["1e3", 1000],
  ["bogus!", 0],
  [null, 0],
])("reads %s as %s", (text, value) => {
  expect(amount(text)).toBe(value);
});

it("tells what is borrowed apart from what is due", () => {
  const [meter] = metersOf({ quota: { cpu: "1" }, guarantee: { cpu: "500m" }, capability: null, allocated: { cpu: "1500m" } });

  expect(meter).toMatchObject({ used: 1.5, borrowed: 0.5, quota: 1, guarantee: 0.5 });
  expect(meter!.words).toBe("1500m used · of 1 · 500m guaranteed · borrowing");
});

it("puts children below their parents", () => {
  const tree = asTree([
    { name: "b", parent: "root", scheduler: "local" },
    { name: "a", parent: "b", scheduler: "local" },
    { name: "c", parent: "root", scheduler: "local" },
  ]);

  expect(tree.map(({ queue, depth }) => `${depth}${queue.name}`)).toEqual(["0b", "1a", "0c"]);
});

it("keeps the trees of schedulers apart, whatever the names", () => {
  const tree = asTree([
    { name: "default", parent: "root", scheduler: "local" },
    { name: "root", parent: "", scheduler: "volcano" },
    { name: "default", parent: "root", scheduler: "volcano" },
  ]);

  expect(tree.map(({ queue, depth }) => `${depth}${queue.name} ${queue.scheduler}`)).toEqual([
    "0default local",
    "0root volcano",
    "1default volcano",
  ]);
});

it.each([
  ["q-batch", "batch"],
  ["batch", "batch"],
  ["q-volcano:batch", "batch · volcano"],
])("names the queue %s", (id, name) => {
  expect(queueName(id)).toBe(name);
});
