import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { lookAt, previewOf } from "./preview";

const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));

it("shows text as text, markup included", () => {
  expect(lookAt(bytes("<script>alert(1)</script>"))).toEqual({ kind: "text", text: "<script>alert(1)</script>" });
});

it("knows pictures by their first bytes", () => {
  expect(lookAt(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]))).toMatchObject({ kind: "image", media: "image/png" });
});

it("takes a picture that is a document for text", () => {
  expect(lookAt(bytes("<svg onload='x'/>")).kind).toBe("text");
});

it("does not guess at other bytes", () => {
  expect(lookAt(new Uint8Array([0, 1, 2, 3]))).toEqual({ kind: "unknown" });
});

it("lists what a real archive holds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tar-"));
  writeFileSync(join(folder, "a.txt"), "alpha");
  writeFileSync(join(folder, "b.txt"), "beta");
  execFileSync("tar", ["-czf", "x.tgz", "a.txt", "b.txt"], { cwd: folder });

  const seen = await previewOf(new Uint8Array(readFileSync(join(folder, "x.tgz"))));

  expect(seen.kind).toBe("archive");
  if (seen.kind !== "archive") return;
  expect(seen.entries.map((each) => each.name)).toEqual(["a.txt", "b.txt"]);
  expect(lookAt(seen.entries[1]!.bytes)).toEqual({ kind: "text", text: "beta" });
});
