import { expect, it } from "vitest";

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
    { name: "b", parent: "root" },
    { name: "a", parent: "b" },
    { name: "c", parent: "root" },
  ]);

  expect(tree.map(({ queue, depth }) => `${depth}${queue.name}`)).toEqual(["0b", "1a", "0c"]);
});
