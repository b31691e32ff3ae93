import { expect, it } from "vitest";

import { pieces, plain } from "./ansi";

const E = "\u001b";

it("leaves plain text as it is, markup included", () => {
  expect(pieces("<b>x</b> & co")).toEqual([{ text: "<b>x</b> & co" }]);
});

it("takes over colours and weight until they are taken back", () => {
  expect(pieces(`a ${E}[1;31mred${E}[0m b`)).toEqual([{ text: "a " }, { text: "red", bold: true, color: 1 }, { text: " b" }]);
});

it("knows bright colours and both larger palettes", () => {
  expect(pieces(`${E}[92mx`)[0]).toEqual({ text: "x", color: 10 });
  expect(pieces(`${E}[38;5;196mx`)[0]).toEqual({ text: "x", color: "rgb(255 0 0)" });
  expect(pieces(`${E}[48;2;1;2;3mx`)[0]).toEqual({ text: "x", background: "rgb(1 2 3)" });
});

it("drops cursor moves, titles, links and control characters", () => {
  expect(plain(`${E}[2K${E}]0;title\u0007ok${E}]8;;http://x\u0007link${E}]8;;\u0007\u0008`)).toBe("oklink");
  expect(pieces(`${E}[2J${E}[Hx`)).toEqual([{ text: "x" }]);
});

it("shows what a carriage return left visible", () => {
  expect(plain("10%\r50%\r100%\r")).toBe("100%");
});

it("ends for any numbers", () => {
  expect(plain(`${E}[38;5mx${E}[38;2;999;mz`)).toBe("xz");
});
