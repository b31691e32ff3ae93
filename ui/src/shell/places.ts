/** The pages of the application, in the order in which they are listed. */
import type { IconName } from "../parts/Icon";

export interface Place {
  to: "/" | "/workflows" | "/queues" | "/schedules" | "/templates" | "/editor" | "/submit" | "/settings";
  label: string;
  icon: IconName;
  /** After `g`, this key leads there. */
  key: string;
}

export const PLACES: readonly Place[] = [
  { to: "/", label: "Dashboard", icon: "dashboard", key: "d" },
  { to: "/workflows", label: "Workflows", icon: "workflows", key: "w" },
  { to: "/queues", label: "Queues", icon: "queues", key: "q" },
  { to: "/schedules", label: "Schedules", icon: "schedules", key: "s" },
  { to: "/templates", label: "Templates", icon: "templates", key: "t" },
  { to: "/editor", label: "Editor", icon: "editor", key: "e" },
  { to: "/submit", label: "Submit", icon: "submit", key: "n" },
  { to: "/settings", label: "Settings", icon: "settings", key: "," },
];
