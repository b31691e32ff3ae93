/** The lines of one node's log, read as they come and kept up to a limit. */
import { useEffect, useReducer, useRef, useState } from "react";

import { readLog, type LogLine } from "../api/live";

/** So many lines are kept; older ones go. */
export const MAX_LINES = 200_000;
/** At first only so much of the end is read, then more, then everything: the log may be huge. */
export const STAGES: readonly (number | null)[] = [256 * 1024, 8 * 1024 * 1024, null];
const BLOCK = 20_000;

interface Log {
  lines: LogLine[];
  /** Whether lines before the first are not here. */
  cut: boolean;
  state: "reading" | "done" | "failed";
  error: unknown;
  /** Read more of the log, or all of it from its beginning. */
  readMore: (() => void) | null;
  readAll: () => void;
}

/** Follow a log until it ends or another is wanted. */
export function useLog(workflow: string, node: string): Log {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const log = useRef({ lines: [] as LogLine[], cut: false, state: "reading" as Log["state"], error: null as unknown });
  const key = `${workflow} ${node}`;
  const [wanted, setWanted] = useState({ key: "", stage: 0 });
  const stage = wanted.key === key ? wanted.stage : 0;

  useEffect(() => {
    const controller = new AbortController();
    const current = { lines: [] as LogLine[], cut: false, state: "reading" as Log["state"], error: null as unknown };
    log.current = current;
    let frame = 0;
    const begun = new Set<string>();
    const show = () => {
      frame = 0;
      if (log.current === current) redraw();
    };
    const later = () => (frame ||= requestAnimationFrame(show));

    function onLines(lines: LogLine[]): void {
      for (const line of lines) {
        if (isCut(line, begun)) current.cut = true;
        current.lines.push(line);
      }
      if (current.lines.length > MAX_LINES + BLOCK) {
        current.lines = current.lines.slice(-MAX_LINES);
        current.cut = true;
      }
      later();
    }

    const bytes = STAGES[stage];
    const query = bytes ? { last_bytes: bytes } : undefined;
    readLog(workflow, node, { follow: true, signal: controller.signal, onLines, query }).then(
      () => {
        current.state = "done";
        later();
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        current.state = "failed";
        current.error = error;
        later();
      },
    );
    redraw();
    return () => {
      cancelAnimationFrame(frame);
      controller.abort();
    };
  }, [workflow, node, stage]);

  const last = STAGES.length - 1;
  return {
    ...log.current,
    readMore: stage + 1 < last ? () => setWanted({ key, stage: stage + 1 }) : null,
    readAll: () => setWanted({ key, stage: last }),
  };
}

/** Tell whether something stands before the first line of a stream. */
function isCut(line: LogLine, begun: Set<string>): boolean {
  const stream = `${line.container} ${line.stream}`;
  if (begun.has(stream)) return false;
  begun.add(stream);
  return line.offset > new TextEncoder().encode(line.text).length + 1;
}
