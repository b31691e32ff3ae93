/** A log: follows, finds, shows colours and times, keeps stdout and stderr apart, downloads. */
import { ActionIcon, Button, Checkbox, Group, Loader, SegmentedControl, Text, TextInput, Tooltip } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties } from "react";

import type { LogLine } from "../api/live";
import { Icon } from "../parts/Icon";
import { Problem } from "../parts/Problem";
import { exactClock } from "../parts/time";
import { scrollTo, windowOf } from "../parts/window";
import { pieces, plain, type Piece } from "./ansi";
import { saveLog } from "./download";
import { useLog } from "./useLog";

const ROW = 19;

type Stream = "both" | "stdout" | "stderr";

interface LogViewProps {
  workflow: string;
  node: string;
  name: string;
}

/** The log of one node. */
export function LogView({ workflow, node, name }: LogViewProps) {
  const log = useLog(workflow, node);
  const [stream, setStream] = useState<Stream>("both");
  const [times, setTimes] = useState(true);
  const [text, setText] = useState("");
  const [only, setOnly] = useState(false);
  const [at, setAt] = useState(0);
  const [follow, setFollow] = useState(true);
  const { shown, hits } = useFound(log.lines, log.lines.length, stream, text, only);
  const current = hits.length ? hits[((at % hits.length) + hits.length) % hits.length]! : -1;

  function go(step: number): void {
    setFollow(false);
    setAt((before) => before + step);
  }

  return (
    <div className="log">
      <Group gap={6} className="log-tools">
        <TextInput
          data-search
          size="xs"
          w={170}
          aria-label="Search the log"
          placeholder="Search"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
            if (event.currentTarget.value) setFollow(false);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        {text && (
          <Text size="xs" className="num" aria-live="polite">
            {hits.length ? `${(((at % hits.length) + hits.length) % hits.length) + 1}/${hits.length}` : "none"}
          </Text>
        )}
        {text && <Checkbox size="xs" label="only these" checked={only} onChange={(event) => setOnly(event.currentTarget.checked)} />}
        <SegmentedControl
          size="xs"
          aria-label="Stream"
          value={stream}
          onChange={(value) => setStream(value as Stream)}
          data={["both", "stdout", "stderr"]}
        />
        <Checkbox size="xs" label="times" checked={times} onChange={(event) => setTimes(event.currentTarget.checked)} />
        <Checkbox size="xs" label="follow" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
        <Tooltip label="Download">
          <ActionIcon variant="default" size={28} aria-label="Download the log" onClick={() => void saveLog(workflow, node, name, log.cut ? null : log.lines)}>
            <Icon name="download" size={16} />
          </ActionIcon>
        </Tooltip>
        {log.state === "reading" && <Loader size="xs" aria-label="Following" />}
      </Group>
      {log.state === "failed" && <Problem error={log.error} title="The log cannot be read" />}
      {log.cut && (
        <Group gap="xs" className="log-cut">
          <Text size="xs">Earlier lines are not shown.</Text>
          {log.readMore && (
            <Button size="compact-xs" variant="default" onClick={log.readMore}>
              Read more
            </Button>
          )}
          <Button size="compact-xs" variant="default" onClick={log.readAll}>
            Read from the beginning
          </Button>
        </Group>
      )}
      {log.state === "done" && !log.lines.length ? (
        <Text size="sm" p="sm" className="quiet">
          Nothing was written.
        </Text>
      ) : (
        <Lines lines={shown} times={times} wanted={text} current={current} follow={follow} onFollow={setFollow} />
      )}
    </div>
  );
}

/** Choose lines by stream and search; `hits` are places in what is shown. */
function useFound(lines: LogLine[], count: number, stream: Stream, text: string, only: boolean) {
  return useMemo(() => {
    const wanted = text.toLowerCase();
    const matches = (line: LogLine) => plain(line.text).toLowerCase().includes(wanted);
    let shown = stream === "both" ? lines : lines.filter((line) => line.stream === stream);
    if (!wanted) return { shown: shown.slice(0, count), hits: [] };
    if (only) shown = shown.filter(matches);
    const hits: number[] = [];
    shown.forEach((line, index) => {
      if (only || matches(line)) hits.push(index);
    });
    return { shown, hits };
  }, [lines, count, stream, text, only]);
}

interface LinesProps {
  lines: LogLine[];
  times: boolean;
  wanted: string;
  current: number;
  follow: boolean;
  onFollow: (on: boolean) => void;
}

function Lines({ lines, times, wanted, current, follow, onFollow }: LinesProps) {
  const box = useRef<HTMLDivElement | null>(null);
  const { ref, height } = useElementSize();
  const [scroll, setScroll] = useState(0);
  const seen = windowOf(scroll, height || 300, lines.length, ROW, 20);

  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follow, lines.length, height]);
  useEffect(() => {
    if (current < 0 || !box.current) return;
    box.current.scrollTop = scrollTo(current, box.current.scrollTop, height, lines.length, ROW);
  }, [current, wanted]);

  return (
    <div
      className="log-lines mono"
      ref={(element) => {
        box.current = element;
        ref(element);
      }}
      role="log"
      aria-label="Log"
      aria-live="off"
      tabIndex={0}
      data-lines={lines.length}
      onWheel={(event) => {
        if (event.deltaY < 0) onFollow(false);
      }}
      onKeyDown={(event) => {
        if (["ArrowUp", "PageUp", "Home"].includes(event.key)) onFollow(false);
        if (event.key === "End") onFollow(true);
      }}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
    >
      <div className="log-track" style={{ height: seen.track }}>
        <div style={{ transform: `translateY(${seen.offset}px)` }}>
          {lines.slice(seen.first, seen.first + seen.count).map((line, index) => (
            <Line
              key={seen.first + index}
              line={line}
              number={seen.first + index}
              times={times}
              wanted={wanted}
              current={seen.first + index === current}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  line: LogLine;
  number: number;
  times: boolean;
  wanted: string;
  current: boolean;
}

/** A line of a megabyte would stall the page; the rest is in the download. */
const LONG = 4000;

const Line = memo(function Line({ line, times, wanted, current }: LineProps) {
  const text = line.text.length > LONG ? `${line.text.slice(0, LONG)} … (${line.text.length.toLocaleString("en")} characters)` : line.text;
  return (
    <div className={`log-line log-${line.stream}${current ? " log-current" : ""}`}>
      {times && line.time && <span className="log-time">{exactClock(line.time)}</span>}
      {line.stream === "stderr" && <span className="log-stream">err</span>}
      <span>{pieces(text).map((piece, index) => <Words key={index} piece={piece} wanted={wanted} />)}</span>
    </div>
  );
});

function Words({ piece, wanted }: { piece: Piece; wanted: string }) {
  return (
    <span className={classOf(piece)} style={styleOf(piece)}>
      {wanted ? marked(piece.text, wanted) : piece.text}
    </span>
  );
}

function classOf({ color, background, bold, faint, underline }: Piece): string | undefined {
  const names = [
    typeof color === "number" && `fg-${color}`,
    typeof background === "number" && `bg-${background}`,
    bold && "bold",
    faint && "faint",
    underline && "underline",
  ].filter(Boolean);
  return names.length ? names.join(" ") : undefined;
}

function styleOf({ color, background }: Piece): CSSProperties | undefined {
  if (typeof color !== "string" && typeof background !== "string") return undefined;
  return {
    color: typeof color === "string" ? color : undefined,
    background: typeof background === "string" ? background : undefined,
  };
}

function marked(text: string, wanted: string) {
  const parts: (string | React.ReactElement)[] = [];
  const low = text.toLowerCase();
  const find = wanted.toLowerCase();
  let at = 0;
  for (let hit = low.indexOf(find); hit >= 0; hit = low.indexOf(find, at)) {
    parts.push(text.slice(at, hit), <mark key={hit}>{text.slice(hit, hit + find.length)}</mark>);
    at = hit + find.length;
  }
  parts.push(text.slice(at));
  return parts;
}
