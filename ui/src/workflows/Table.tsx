/** The list itself: only rows in view exist, so a million of them scroll like ten. */
import { Checkbox } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { memo, useEffect, useRef, useState, type MouseEvent, type UIEvent } from "react";

import { queueName } from "../api/queues";
import type { Filters, Summary } from "../api/workflows";
import { StatusWord } from "../parts/Status";
import { Ago, Took } from "../parts/Time";
import { pagesOf, scrollTo, windowOf } from "../parts/window";
import { PAGE_SIZE, useRows } from "./useRows";

const ROW = 40;

export interface TableProps {
  filters: Filters;
  marked: ReadonlyMap<string, Summary>;
  onMark: (row: Summary, on: boolean) => void;
  onMarkAll: (rows: Summary[], on: boolean) => void;
  cursor: number;
  rows: ReturnType<typeof useTableRows>;
}

/** Rows, and where the list is scrolled to. */
export function useTableRows(filters: Filters) {
  const [scroll, setScroll] = useState(0);
  const { ref, height } = useElementSize();
  const [known, setKnown] = useState(0);
  const seen = windowOf(scroll, height || 600, known, ROW);
  const rows = useRows(filters, pagesOf(seen.first, seen.count, PAGE_SIZE));
  useEffect(() => {
    // After a jump the length stays what it was until the page is there.
    if (rows.total !== undefined) setKnown(rows.total);
  }, [rows.total]);
  return { ...rows, total: known, empty: rows.total === 0, seen, scroll, setScroll, ref, height };
}

/** The list. */
export function Table({ marked, onMark, onMarkAll, cursor, rows }: TableProps) {
  const { seen, total, row, scroll, setScroll, ref, height } = rows;
  const box = useRef<HTMLDivElement>(null);
  const shown = Array.from({ length: seen.count }, (_, index) => seen.first + index);
  const present = shown.map(row).filter((each) => each !== undefined);
  const allMarked = present.length > 0 && present.every((each) => marked.has(each.id));

  useEffect(() => {
    const element = box.current;
    if (cursor < 0 || !element) return;
    element.scrollTop = scrollTo(cursor, element.scrollTop, height, total, ROW);
    const link = () => element.querySelector<HTMLElement>(`[data-row="${cursor}"] a`);
    // At once where it is there, so that the next key is its; one that was scrolled to comes later.
    if (link()) link()!.focus({ preventScroll: true });
    else requestAnimationFrame(() => link()?.focus({ preventScroll: true }));
  }, [cursor]);

  return (
    <div className="list" role="table" aria-label="Workflows" aria-rowcount={total + 1}>
      <div className="list-row list-head" role="row" aria-rowindex={1}>
        <span role="columnheader">
          <Checkbox
            size="xs"
            aria-label="Mark the rows in view"
            checked={allMarked}
            indeterminate={!allMarked && marked.size > 0}
            onChange={(event) => onMarkAll(present, event.currentTarget.checked)}
          />
        </span>
        {["Status", "Name", "Project", "Queue", "Progress", "Created", "Duration"].map((name) => (
          <span key={name} role="columnheader" className={`col-${name.toLowerCase()}`}>
            {name}
          </span>
        ))}
      </div>
      <div
        className="list-scroll"
        ref={(element) => {
          box.current = element;
          ref(element);
        }}
        onScroll={(event: UIEvent<HTMLDivElement>) => setScroll(event.currentTarget.scrollTop)}
        role="rowgroup"
        tabIndex={0}
        aria-label="Rows"
        data-scroll={Math.round(scroll)}
      >
        <div className="list-track" style={{ height: seen.track }}>
          <div style={{ transform: `translateY(${seen.offset}px)` }}>
            {shown.map((index) => (
              <Row
                key={index}
                index={index}
                row={row(index)}
                marked={marked.has(row(index)?.id ?? "")}
                current={index === cursor}
                onMark={onMark}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  index: number;
  row: Summary | undefined;
  marked: boolean;
  current: boolean;
  onMark: (row: Summary, on: boolean) => void;
}

/** Plain elements: dozens of rows come and go with every turn of the wheel. */
const Row = memo(function Row({ index, row, marked, current, onMark }: RowProps) {
  const className = `list-row${current ? " list-current" : ""}${marked ? " list-marked" : ""}`;
  if (!row) {
    return (
      <div className={className} role="row" aria-rowindex={index + 2} aria-busy="true">
        <span role="cell" className="list-waiting" />
      </div>
    );
  }
  return (
    <div className={className} role="row" aria-rowindex={index + 2} data-row={index}>
      <span role="cell">
        <input
          type="checkbox"
          className="check"
          aria-label={`Mark ${row.name}`}
          checked={marked}
          onChange={(event) => onMark(row, event.currentTarget.checked)}
        />
      </span>
      <span role="cell" className="col-status">
        <StatusWord status={row.suspended && row.status === "running" ? "suspended" : row.status} />
      </span>
      <span role="cell" className="cut col-name">
        <RowLink row={row} />
        {row.message && <span className="row-note">{row.message}</span>}
      </span>
      <span role="cell" className="cut col-project">
        {row.project_id}
      </span>
      <span role="cell" className="cut col-queue">
        {row.queue_id ? queueName(row.queue_id) : "–"}
      </span>
      <span role="cell" className="col-progress">
        <span className="bar" role="progressbar" aria-valuenow={row.progress} aria-valuemin={0} aria-valuemax={100} aria-label={`${row.progress}% done`}>
          <span style={{ width: `${row.progress}%` }} />
        </span>
      </span>
      <span role="cell" className="col-created">
        <Ago at={row.created_at} />
      </span>
      <span role="cell" className="col-duration">
        <Took start={row.start_time} end={row.end_time} />
      </span>
    </div>
  );
});

function RowLink({ row }: { row: Summary }) {
  const navigate = useNavigate();
  function open(event: MouseEvent): void {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void navigate({ to: "/workflows/$id", params: { id: row.id } });
  }
  return (
    <a href={`/workflows/${encodeURIComponent(row.id)}`} className="row-link" onClick={open}>
      {row.name}
    </a>
  );
}
