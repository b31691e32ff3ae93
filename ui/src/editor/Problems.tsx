/** What the server says about the text, below it; each line leads to its place. */
import { Text, UnstyledButton } from "@mantine/core";

import type { Mistake } from "../api/client";
import type { Editing } from "./useEditing";

const SHOWN = 50;

export function Problems({ editing }: { editing: Editing }) {
  const { problems, checked } = editing;
  return (
    <section className="problems" aria-label="Problems">
      <Text size="xs" role="status" className="problems-head">
        {headline(checked, problems)}
      </Text>
      {problems.slice(0, SHOWN).map((each, index) => (
        <UnstyledButton key={index} className="problem" onClick={() => editing.reveal(offsetOf(editing.text, each), true)}>
          <span className="num problem-line">{each.line ?? "–"}</span>
          <span className="wrap-anywhere">{each.message}</span>
        </UnstyledButton>
      ))}
    </section>
  );
}

function headline(checked: boolean, problems: readonly Mistake[]): string {
  if (problems.length === 0) return checked ? "No problems found" : "Checking…";
  return problems.length === 1 ? "1 problem" : `${problems.length} problems`;
}

/** Give the offset of a problem in the text. */
export function offsetOf(text: string, { line, column }: Mistake): number {
  const before = text.split("\n").slice(0, Math.max(0, (line ?? 1) - 1));
  return before.reduce((sum, each) => sum + each.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
}
