/** Which page is at which address. Pages are loaded when they are first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";

import { NotFound, PageFailed } from "./parts/Problem";
import { Shell } from "./shell/Shell";

type Search = Record<string, string | undefined>;

/** Keep the parameters of an address as plain text: what a filter means is its page's business. */
function asText(search: Record<string, unknown>): Search {
  const pairs = Object.entries(search).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ""));
}

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: PageFailed,
  validateSearch: asText,
});

function page<P extends string>(path: P, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component });
}

const tree = root.addChildren([
  page("/", lazyRouteComponent(() => import("./dashboard"), "DashboardPage")),
  page("/workflows", lazyRouteComponent(() => import("./workflows"), "WorkflowsPage")),
  page("/workflows/$id", lazyRouteComponent(() => import("./workflow"), "WorkflowPage")),
  page("/compare", lazyRouteComponent(() => import("./workflow/Compare"), "ComparePage")),
  page("/queues", lazyRouteComponent(() => import("./queues"), "QueuesPage")),
  page("/schedules", lazyRouteComponent(() => import("./schedules"), "SchedulesPage")),
  page("/templates", lazyRouteComponent(() => import("./templates"), "TemplatesPage")),
  page("/editor", lazyRouteComponent(() => import("./editor"), "EditorPage")),
  page("/submit", lazyRouteComponent(() => import("./editor"), "SubmitPage")),
  page("/settings", lazyRouteComponent(() => import("./settings"), "SettingsPage")),
]);

/** Write parameters as they are, so that addresses can be read and typed by people. */
function stringify(search: Search): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given as [string, string][]).toString();
  return text ? `?${text}` : "";
}

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultPendingMs: 200,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: stringify,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
