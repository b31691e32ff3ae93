/** For tests: texts to try edits on, and chance that repeats itself. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

export interface Sample {
  readonly name: string;
  readonly text: string;
}

/** The repository's own examples, and a wider set where it lies beside the repository. */
export function samples(): Sample[] {
  const root = resolve(import.meta.dirname, "../../../..");
  return [...folder(resolve(root, "examples")), ...folder(resolve(root, "../shared/conformance/cases"))];
}

function folder(path: string): Sample[] {
  try {
    return readdirSync(path)
      .filter((name) => name.endsWith(".yaml"))
      .sort()
      .map((name) => ({ name, text: readFileSync(resolve(path, name), "utf-8") }));
  } catch {
    return [];
  }
}

/** Give numbers below `limit`, the same ones for the same seed. */
export function chance(seed: number): (limit: number) => number {
  let state = seed + 0x9e3779b9;
  return (limit) => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) ^ 0x27d4eb2f;
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state ^= state >>> 16;
    return (state >>> 0) % limit;
  };
}
