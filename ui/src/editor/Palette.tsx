/** What can be added: click, or drag onto the graph; onto a box, to run after it. */
import { Button, Group, Menu, Tooltip } from "@mantine/core";
import type { DragEvent } from "react";

import { Icon } from "../parts/Icon";
import { DRAGGED } from "./GraphPane";
import { KINDS, labelOf } from "./kinds";
import { type Model, type Template, isGroup } from "./model/read";

/** What a person chose: a new template of a kind, or one that is there. */
export type Choice = `new:${string}` | `use:${string}`;

interface Props {
  readonly model: Model;
  readonly template: Template | undefined;
  readonly disabled: boolean;
  readonly after: string | undefined;
  readonly onAdd: (choice: Choice) => void;
}

export function Palette({ model, template, disabled, after, onAdd }: Props) {
  const kinds = kindsFor(template);
  const others = reusable(model, template);
  const drag = (choice: Choice) => (event: DragEvent) => {
    event.dataTransfer.setData(DRAGGED, choice);
    event.dataTransfer.effectAllowed = "copy";
  };
  return (
    <Group gap={4} role="group" aria-label={after ? `Add after ${after}` : "Add"}>
      {kinds.map(({ kind, label, icon, about }) => (
        <Tooltip key={kind} label={after ? `${about}, after ${after}` : about}>
          <Button
            size="compact-xs"
            variant="default"
            draggable={!disabled}
            disabled={disabled}
            leftSection={<Icon name={icon} size={14} />}
            onDragStart={drag(`new:${kind}`)}
            onClick={() => onAdd(`new:${kind}`)}
          >
            {label}
          </Button>
        </Tooltip>
      ))}
      {others.length > 0 && (
        <Menu position="bottom-start">
          <Menu.Target>
            <Button size="compact-xs" variant="default" disabled={disabled} rightSection={<Icon name="down" size={12} />}>
              Use a template
            </Button>
          </Menu.Target>
          <Menu.Dropdown mah={320} className="scrolls">
            {others.map((each) => (
              <Menu.Item key={each.name} onClick={() => onAdd(`use:${each.name}`)}>
                {each.name} ({labelOf(each.kind)})
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  );
}

function kindsFor(template: Template | undefined): { kind: string; label: string; icon: (typeof KINDS)[number]["icon"]; about: string }[] {
  if (template?.kind === "containerSet") return KINDS.filter((each) => each.kind === "container").slice();
  if (template?.kind === "jobflow") {
    return [{ kind: "job", label: "Job", icon: "stop", about: "A flow with its own JobTemplate" }];
  }
  return template?.kind === "job" ? [] : KINDS.slice();
}

function reusable(model: Model, template: Template | undefined): Template[] {
  if (!template || !isGroup(template.kind) || template.kind === "containerSet") return [];
  if (template.kind === "jobflow") {
    const used = template.tasks.map((each) => each.name);
    return model.templates.filter((each) => each.kind === "job" && !used.includes(each.name));
  }
  return model.templates.filter((each) => each.document === template.document && each.name !== "" && each.name !== template.name);
}
