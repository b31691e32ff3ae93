/** The lines of one node's log, read as they come and kept up to a limit. */
import { useCallback, useEffect, useReducer, useRef } from "react";

import { readLog, type LogLine } from "../api/live";

/** So many lines are kept; older ones go. */
export const MAX_LINES = 200_000;
/** At first only so much of the end is read: the log may be huge. */
export const FIRST_BYTES = 2 * 1024 * 1024;
const BLOCK = 20_000;

interface Log {
  lines: LogLine[];
  /** Whether lines before the first are not here. */
  cut: boolean;
  state: "reading" | "done" | "failed";
  error: unknown;
  /** Read the log from its beginning. */
  readAll: () => void;
}

/** Follow a log until it ends or another is wanted. */
export function useLog(workflow: string, node: string): Log {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const log = useRef({ lines: [] as LogLine[], cut: false, state: "reading" as Log["state"], error: null as unknown });
  const [whole, setWhole] = useReducer((_: string, next: string) => next, "");
  const all = whole === `${workflow} ${node}`;

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

    const query = all ? undefined : { last_bytes: FIRST_BYTES };
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
  }, [workflow, node, all]);

  const readAll = useCallback(() => setWhole(`${workflow} ${node}`), [workflow, node]);
  return { ...log.current, readAll };
}

/** Tell whether something stands before the first line of a stream. */
function isCut(line: LogLine, begun: Set<string>): boolean {
  const stream = `${line.container} ${line.stream}`;
  if (begun.has(stream)) return false;
  begun.add(stream);
  return line.offset > new TextEncoder().encode(line.text).length + 1;
}
