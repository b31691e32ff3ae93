/** Our few icons: strokes on a grid of 24. Decoration only; what a button does stands in its label. */
const SHAPES = {
  dashboard: "M4 13h6V4H4zM14 20h6V11h-6zM4 20h6v-4H4zM14 8h6V4h-6z",
  workflows: "M4 6h4v4H4zM16 3h4v4h-4zM16 15h4v4h-4zM8 8h4v9h4M12 8V5h4",
  queues: "M4 6h16M4 12h16M4 18h10",
  schedules: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  templates: "M5 3h9l5 5v13H5zM14 3v5h5M8 13h8M8 17h5",
  editor: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  submit: "M5 12h13M12 5l7 7-7 7",
  settings:
    "M4 7h9M17 7h3M4 17h3M11 17h9M15 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM9 15a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5",
  moon: "M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 17v.01",
  close: "M6 6l12 12M18 6 6 18",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  check: "M5 13l4 4L19 7",
  pause: "M9 5v14M15 5v14",
  play: "M7 5l11 7-11 7z",
  stop: "M6 6h12v12H6z",
  retry: "M4 12a8 8 0 1 1 2.3 5.7M4 19v-5h5",
  copy: "M8 8h12v12H8zM16 8V4H4v12h4",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  trash: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM5 20c1-4 4-5 7-5s6 1 7 5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  expand: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  warning: "M12 4 2.5 20h19zM12 10v5M12 17.5v.01",
  dots: "M5 12v.01M12 12v.01M19 12v.01",
  undo: "M8 5 4 9l4 4M4 9h10a5 5 0 0 1 0 10h-4",
  redo: "M16 5l4 4-4 4M20 9H10a5 5 0 0 0 0 10h4",
} as const;

export type IconName = keyof typeof SHAPES;

/** Draw an icon. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={SHAPES[name]} />
    </svg>
  );
}
