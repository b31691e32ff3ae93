/** What can be done with workflows, for one and for many. */
import type { IconName } from "../parts/Icon";
import { act, hasEnded, purge, type Action, type Summary } from "../api/workflows";

export type Deed = Action | "delete";

interface Described {
  label: string;
  icon: IconName;
  /** Said before it is done to many, or where it cannot be undone. */
  question: string;
  danger?: boolean;
  done: string;
}

export const DEEDS: Readonly<Record<Deed, Described>> = {
  retry: { label: "Retry", icon: "retry", question: "What failed runs again; what succeeded does not.", done: "retried" },
  resubmit: { label: "Resubmit", icon: "copy", question: "Each runs once more, as a new workflow.", done: "resubmitted" },
  suspend: { label: "Suspend", icon: "pause", question: "Nothing new starts; what runs goes on.", done: "suspended" },
  resume: { label: "Resume", icon: "play", question: "What was suspended goes on.", done: "resumed" },
  stop: { label: "Stop", icon: "stop", question: "Tasks are ended; exit handlers still run.", danger: true, done: "stopped" },
  terminate: { label: "Terminate", icon: "close", question: "Tasks are ended at once; exit handlers do not run.", danger: true, done: "terminated" },
  delete: { label: "Delete", icon: "trash", question: "Removed with logs and artifacts. This cannot be undone.", danger: true, done: "deleted" },
};

/** List what makes sense for a workflow in this state. */
export function deedsFor(status: string, suspended = false): Deed[] {
  if (status === "succeeded") return ["resubmit", "delete"];
  if (hasEnded(status)) return ["retry", "resubmit", "delete"];
  return [suspended ? "resume" : "suspend", "stop", "terminate", "resubmit"];
}

/** Do it. */
export function perform(id: string, deed: Deed, body: object = {}): Promise<Summary | unknown> {
  return deed === "delete" ? purge(id) : act(id, deed, body);
}

export interface Tally {
  done: number;
  failed: { id: string; error: unknown }[];
}

/** Do it with many, a few at a time; one that fails does not keep the others from it. */
export async function performAll(ids: readonly string[], deed: Deed, atOnce = 4): Promise<Tally> {
  const left = [...ids];
  const tally: Tally = { done: 0, failed: [] };
  async function work(): Promise<void> {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await perform(id, deed);
        tally.done += 1;
      } catch (error) {
        tally.failed.push({ id, error });
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  return tally;
}
