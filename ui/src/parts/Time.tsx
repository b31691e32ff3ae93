/** Times on the page: how long ago, with the exact instant on hover; and a clock that ticks. */
import { useEffect, useState, useSyncExternalStore } from "react";

import { ago, between, instant, onTimeZone, span, timeZone } from "./time";

/** Give the time now, anew every `interval` milliseconds; 0 stands still. */
export function useNow(interval = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!interval) return;
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}

/** Give the chosen zone, anew when it changes. */
export function useTimeZone(): string {
  return useSyncExternalStore(onTimeZone, timeZone);
}

/** How long ago something was. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow(5000);
  const zone = useTimeZone();
  if (!at) return <span>–</span>;
  return (
    <time dateTime={at} title={`${instant(at)} ${zone}`}>
      {ago(at, Math.max(now, Date.now() - 5000))}
    </time>
  );
}

/** An instant in the chosen zone. */
export function At({ at }: { at: string | null | undefined }) {
  useTimeZone();
  return at ? <time dateTime={at}>{instant(at)}</time> : <span>–</span>;
}

interface TookProps {
  start: string | null | undefined;
  end: string | null | undefined;
}

/** How long something took, or takes so far. */
export function Took({ start, end }: TookProps) {
  const running = Boolean(start) && !end;
  const now = useNow(running ? 1000 : 0);
  return <span className="num">{span(between(start, end, now))}</span>;
}
