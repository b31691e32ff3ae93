/** The kinds of templates: how they are called, drawn and begun. */
import type { IconName } from "../parts/Icon";
import type { Value } from "./model/emit";
import type { TemplateKind } from "./model/read";

export interface Kind {
  readonly kind: TemplateKind;
  readonly label: string;
  readonly icon: IconName;
  readonly about: string;
  readonly body: { [key: string]: Value };
}

export const KINDS: readonly Kind[] = [
  {
    kind: "container",
    label: "Container",
    icon: "stop",
    about: "A command in an image",
    body: { container: { image: "busybox", command: ["sh", "-c"], args: ["echo hello"] } },
  },
  {
    kind: "script",
    label: "Script",
    icon: "file",
    about: "A few lines of Python, shell, …",
    body: { script: { image: "python", command: ["python3"], source: 'print("hello")\n' } },
  },
  {
    kind: "suspend",
    label: "Suspend",
    icon: "pause",
    about: "Waits for a person, or for a time",
    body: { suspend: {} },
  },
  {
    kind: "dag",
    label: "DAG",
    icon: "workflows",
    about: "Tasks that wait for each other",
    body: { dag: { tasks: [] } },
  },
  {
    kind: "steps",
    label: "Steps",
    icon: "queues",
    about: "Groups, one after another",
    body: { steps: [] },
  },
];

const OTHERS: Partial<Record<TemplateKind, [string, IconName]>> = {
  containerSet: ["Container set", "copy"],
  jobflow: ["JobFlow", "workflows"],
  job: ["Job", "stop"],
  resource: ["Resource", "settings"],
  http: ["HTTP", "link"],
  data: ["Data", "file"],
  plugin: ["Plugin", "settings"],
};

export function labelOf(kind: TemplateKind): string {
  return KINDS.find((each) => each.kind === kind)?.label ?? OTHERS[kind]?.[0] ?? "Unknown";
}

export function iconOf(kind: TemplateKind): IconName {
  return KINDS.find((each) => each.kind === kind)?.icon ?? OTHERS[kind]?.[1] ?? "help";
}
