/** The state of a thing: a coloured mark with a shape of its own, and always the word. */
const MARKS: Record<string, string> = {
  succeeded: "M5 12.5l4.5 4.5L19 7.5",
  failed: "M7 7l10 10M17 7 7 17",
  error: "M12 5v9M12 18v.01",
  running: "M9 6l9 6-9 6z",
  pending: "M12 7v5l3 3",
  suspended: "M9 6v12M15 6v12",
  skipped: "M6 12h12",
  omitted: "M6 12h12",
  planned: "M8 12h.01M12 12h.01M16 12h.01",
  open: "M5 12.5l4.5 4.5L19 7.5",
  closed: "M7 7l10 10M17 7 7 17",
  closing: "M12 7v5l3 3",
};

/** Give the CSS colour of a state. */
export function colorOf(status: string): string {
  const name = status in MARKS ? status : "pending";
  return `var(--state-${name})`;
}

/** The mark alone. */
export function StatusMark({ status, size = 16 }: { status: string; size?: number }) {
  return (
    <svg
      className={status === "running" ? "mark mark-running" : "mark"}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      role="img"
      aria-label={status}
    >
      <circle cx="12" cy="12" r="12" fill={colorOf(status)} />
      <path
        d={MARKS[status] ?? MARKS["pending"]}
        fill="none"
        stroke="var(--state-ink)"
        strokeWidth={2.6}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** The mark and the word. */
export function StatusWord({ status, size = 16 }: { status: string; size?: number }) {
  return (
    <span className="status">
      <StatusMark status={status} size={size} />
      <span>{status}</span>
    </span>
  );
}
