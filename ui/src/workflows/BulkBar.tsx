/** What can be done with the rows that are marked. */
import { Button, Group, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import type { Summary } from "../api/workflows";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { tellDone, tellProblem } from "../parts/Problem";
import { DEEDS, deedsFor, performAll, type Deed } from "./actions";

interface BulkBarProps {
  marked: ReadonlyMap<string, Summary>;
  onClear: () => void;
}

/** List the deeds that make sense for at least one of them, and for how many. */
export function deedsForMany(rows: Iterable<Summary>): Map<Deed, string[]> {
  const found = new Map<Deed, string[]>();
  for (const row of rows) {
    const deeds = new Set(deedsFor(row.status, row.suspended));
    // Whether one of its pauses waits is not known here.
    if (deeds.has("suspend")) deeds.add("resume");
    for (const deed of deeds) found.set(deed, [...(found.get(deed) ?? []), row.id]);
  }
  return found;
}

/** The bar; nothing where nothing is marked. */
export function BulkBar({ marked, onClear }: BulkBarProps) {
  const [asked, setAsked] = useState<Deed | null>(null);
  const queries = useQueryClient();
  if (!marked.size) return null;
  const possible = deedsForMany(marked.values());
  const ids = asked ? (possible.get(asked) ?? []) : [];

  async function go(deed: Deed): Promise<void> {
    const tally = await performAll(ids, deed);
    if (tally.done) tellDone(`${tally.done} ${DEEDS[deed].done}`);
    const first = tally.failed[0];
    if (first) tellProblem(first.error, `${tally.failed.length} could not be ${DEEDS[deed].done}`);
    onClear();
    await queries.invalidateQueries({ queryKey: ["workflows"] });
  }

  return (
    <Group gap="xs" className="bulk" role="toolbar" aria-label="Actions for marked workflows">
      <Text size="sm" fw={600}>
        {marked.size} marked
      </Text>
      {[...possible].map(([deed, those]) => (
        <Button
          key={deed}
          size="compact-sm"
          variant="default"
          leftSection={<Icon name={DEEDS[deed].icon} size={14} />}
          onClick={() => setAsked(deed)}
        >
          {DEEDS[deed].label} {those.length}
        </Button>
      ))}
      {marked.size === 2 && <CompareButton ids={[...marked.keys()]} />}
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Clear marks
      </Button>
      {asked && (
        <Confirm
          title={`${DEEDS[asked].label} ${ids.length} workflow${ids.length === 1 ? "" : "s"}?`}
          action={DEEDS[asked].label}
          danger={DEEDS[asked].danger}
          onConfirm={() => go(asked)}
          onClose={() => setAsked(null)}
        >
          {DEEDS[asked].question}
        </Confirm>
      )}
    </Group>
  );
}

function CompareButton({ ids: [a, b] }: { ids: string[] }) {
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<Icon name="workflows" size={14} />}
      component={Link}
      to={`/compare?a=${a}&b=${b}`}
    >
      Compare
    </Button>
  );
}
