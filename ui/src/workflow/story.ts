/** What became of one node, as a list of dated sentences. Pure. */
import type { Bar, Node, WorkflowEvent } from "../api/workflows";

export interface Line {
  at: string;
  text: string;
}

/** Tell when a node was queued, started and ended, with the events on record of it in between. */
export function storyOf(node: Node, bar: Bar | undefined, events: readonly WorkflowEvent[]): Line[] {
  const begun = node.status !== "pending" ? (bar?.start_time ?? node.start_time) : null;
  const own = events.filter((event) => event.node !== "" && [node.id, node.name].includes(event.node));
  const lines = [
    line(bar?.queued_at, "queued"),
    line(begun, "started"),
    ...own.map(({ at, text }) => line(at, text)),
    line(node.end_time, [node.status, node.message].filter(Boolean).join(": ")),
  ];
  return lines.filter((each) => each !== null).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function line(at: string | null | undefined, text: string): Line | null {
  return at ? { at, text } : null;
}
