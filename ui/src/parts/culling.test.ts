import { expect, it } from "vitest";

import { boundsOf, boxAt, frameOf, inFrame, viewportOn } from "./culling";

const SIZE = { width: 190, height: 52 };
const PLACES = new Map([
  ["near", { x: 0, y: 0 }],
  ["far", { x: 90_000, y: 0 }],
]);

it("draws what is in and around the window", () => {
  const frame = frameOf({ x: 0, y: 0, zoom: 1 }, 1000, 600);

  expect([...inFrame(PLACES, SIZE, frame)]).toEqual(["near"]);
});

it("does not change with a small move", () => {
  expect(frameOf({ x: 0, y: 0, zoom: 1 }, 1000, 600)).toEqual(frameOf({ x: -20, y: -20, zoom: 1 }, 1000, 600));
});

it("draws all when far enough away", () => {
  const frame = frameOf({ x: 0, y: 0, zoom: 0.01 }, 1000, 600);

  expect(inFrame(PLACES, SIZE, frame).size).toBe(2);
});

it("shows a rectangle in the middle", () => {
  const seen = viewportOn({ x: 100, y: 100, width: 200, height: 100 }, { width: 1000, height: 600 }, { least: 0.1, most: 1 });

  expect(seen).toEqual({ x: 300, y: 150, zoom: 1 });
});

it("shows the beginning of what does not fit", () => {
  const seen = viewportOn({ x: 0, y: -50, width: 90_000, height: 100 }, { width: 1000, height: 600 }, { least: 0.2, most: 1 });

  expect(seen).toEqual({ x: 40, y: 300, zoom: 0.2 });
  const below = viewportOn({ x: -50, y: 0, width: 100, height: 90_000 }, { width: 1000, height: 600 }, { least: 0.2, most: 1, down: true });
  expect(below).toEqual({ x: 500, y: 40, zoom: 0.2 });
});

it("finds the rectangle around boxes, and the box at a point", () => {
  expect(boundsOf(PLACES, SIZE)).toMatchObject({ x: 0, y: 0, width: 90_190 });
  expect(boundsOf(PLACES, SIZE, ["near"]).width).toBe(190);
  expect(boxAt(PLACES, SIZE, { x: 90_010, y: 50 })).toBe("far");
  expect(boxAt(PLACES, SIZE, { x: 300, y: 50 })).toBeUndefined();
  expect(boxAt(PLACES, SIZE, { x: 200, y: 60 }, 20)).toBe("near");
});
