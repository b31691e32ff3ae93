/** All workflows: filters in the address, rows from the server page by page, actions for many. */
import { Button, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";

import type { Summary } from "../api/workflows";
import { Icon } from "../parts/Icon";
import { Empty, Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { useNow } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { BulkBar } from "./BulkBar";
import { FilterBar } from "./FilterBar";
import { countText, filtersOf, isFiltered } from "./filters";
import { Table, useTableRows } from "./Table";

/** The page. */
export function WorkflowsPage() {
  const [search, setSearch] = useAddress();
  const key = JSON.stringify(search);
  const minute = Math.floor(useNow(60_000) / 60_000);
  const filters = useMemo(() => filtersOf(search, minute * 60_000), [key, minute]);
  const rows = useTableRows(filters);
  const [marked, setMarked] = useState<ReadonlyMap<string, Summary>>(new Map());
  const [cursor, setCursor] = useState(-1);
  useEffect(() => {
    setMarked(new Map());
    setCursor(-1);
  }, [key]);

  const mark = useCallback((given: Summary[], on: boolean): void => {
    setMarked((before) => {
      const after = new Map(before);
      for (const each of given) {
        if (on) after.set(each.id, each);
        else after.delete(each.id);
      }
      return after;
    });
  }, []);
  const markOne = useCallback((row: Summary, on: boolean) => mark([row], on), [mark]);
  useRowKeys(rows, cursor, setCursor, (row) => mark([row], !marked.has(row.id)));

  return (
    <Page title="Workflows" actions={<SubmitButton />} about={<Count total={rows.total} atLeast={rows.atLeast} />}>
      <FilterBar search={search} onChange={setSearch} />
      <BulkBar marked={marked} onClear={() => setMarked(new Map())} />
      {rows.error !== null && <Problem error={rows.error} onRetry={rows.refresh} />}
      {rows.error === null && !rows.loading && rows.total === 0 && rows.empty ? (
        <Nothing filtered={isFiltered(search)} />
      ) : (
        <Table
          filters={filters}
          marked={marked}
          onMark={markOne}
          onMarkAll={mark}
          cursor={cursor}
          rows={rows}
        />
      )}
    </Page>
  );
}

function Count({ total, atLeast }: { total: number; atLeast: boolean }) {
  return (
    <Text size="sm" className="quiet num" aria-live="polite" title={atLeast ? "Still being counted: there may be more" : undefined}>
      {countText(total, atLeast)}
    </Text>
  );
}

function SubmitButton() {
  return (
    <Button component={Link} to="/submit" leftSection={<Icon name="plus" size={16} />}>
      Submit
    </Button>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No workflow matches">Take a filter away, or widen it.</Empty>;
  return (
    <Empty
      title="No workflows yet"
      action={
        <Button component={Link} to="/editor" variant="default">
          Start from an example
        </Button>
      }
    >
      Submit one here, or with <span className="mono">tiphys submit FILE</span>.
    </Empty>
  );
}

type Rows = ReturnType<typeof useTableRows>;

function useRowKeys(rows: Rows, cursor: number, setCursor: (to: number) => void, toggle: (row: Summary) => void): void {
  const navigate = useNavigate();
  const current = rows.row(cursor);
  const open = () => {
    if (current) void navigate({ to: "/workflows/$id", params: { id: current.id } });
  };
  useKeys({
    j: () => setCursor(Math.min(rows.total - 1, cursor + 1)),
    k: () => setCursor(Math.max(0, Math.min(rows.total, cursor) - 1)),
    o: open,
    x: () => current && toggle(current),
  });
}
