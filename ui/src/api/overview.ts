/** How things are and have been lately, told by the server as it changes. */
import type { Schemas } from "./client";
import { watch, type LiveState } from "./live";

type Told = Schemas["Overview"];

/** One queue at a glance. */
export interface QueueLine {
  id: string;
  name: string;
  status: string;
  sla_seconds: number | null;
  /** Nodes in line, and workflows that run. */
  waiting: number;
  running: number;
}

/** All that the dashboard shows; a message holds the parts that have changed, the first one all. */
export interface Panorama extends Omit<Told, "now"> {
  /** What is in use now; `use` is what was. */
  latest: Told["use"][number];
  running_rows: Schemas["Summary"][];
  ended_rows: Schemas["Summary"][];
  failed_rows: Schemas["Summary"][];
  queues: QueueLine[];
}

/** Watch until stopped; each time the whole is given, parts that stayed the same as the same objects. */
export function watchOverview(
  hours: number,
  onSeen: (seen: Panorama) => void,
  onState: (state: LiveState) => void,
): () => void {
  let seen: Partial<Panorama> = {};
  return watch<Partial<Panorama>>("/overview/watch", { hours, buckets: 48 }, {
    onUpdate: (parts) => {
      seen = { ...seen, ...parts };
      onSeen(seen as Panorama);
    },
    onState,
  });
}
