/** The left side of the editor: which template is drawn, what can be added, the graph, the fields. */
import { Group, Select, Text } from "@mantine/core";
import { useEffect, useMemo, useState } from "react";

import { TaskPart, TemplatePart } from "./FormSide";
import { GraphPane } from "./GraphPane";
import { type Choice, Palette } from "./Palette";
import { additionOf } from "./addition";
import { type Drawing, drawingOf } from "./graph";
import { labelOf } from "./kinds";
import { type Where, addEdge, findTemplate, removeEdge, removeTask, whereOf } from "./model/edits";
import { type Task, type Template, calledBy, entryOfModel, isGroup } from "./model/read";
import type { Editing } from "./useEditing";

const NOTHING: Drawing = { boxes: [], arrows: [] };

interface Shown {
  readonly template: Template | undefined;
  readonly task: Task | undefined;
  readonly drawing: Drawing;
  readonly show: (where: Where, chosen?: string) => void;
  readonly choose: (id: string | undefined) => void;
}

/** Which template is drawn and which of its boxes is chosen; both may vanish from the text. */
function useShown(editing: Editing): Shown {
  const { model, source, problems } = editing;
  const [where, setWhere] = useState<Where>();
  const [chosen, setChosen] = useState<string>();
  const template = (where && findTemplate(model, where)) ?? entryOfModel(model);
  const drawing = useMemo(
    () => (template ? drawingOf(model, template, source.text, problems) : NOTHING),
    [model, template, source, problems],
  );
  useEffect(() => {
    if (chosen !== undefined && !drawing.boxes.some((each) => each.id === chosen)) setChosen(undefined);
  }, [chosen, drawing]);
  return {
    template,
    task: template?.tasks.find((each) => each.name === chosen),
    drawing,
    show: (next, name) => {
      setWhere(next);
      setChosen(name);
    },
    choose: (id) => {
      setChosen(id);
      const at = template?.tasks.find((each) => each.name === id)?.from;
      if (at !== undefined) editing.reveal(at);
    },
  };
}

export function GraphSide({ editing }: { editing: Editing }) {
  const shown = useShown(editing);
  const { template, task } = shown;
  const actions = actionsOn(editing, shown);
  return (
    <>
      <Group gap="xs" className="graph-head">
        <TemplatePicker editing={editing} template={template} onShow={shown.show} />
        <Palette
          model={editing.model}
          template={template}
          after={task?.name}
          disabled={!editing.readable || !template}
          onAdd={(choice) => actions.add(choice, task?.name)}
        />
      </Group>
      <div className="graph-box">
        {!editing.readable && (
          <Text size="xs" role="status" className="stale">
            The text cannot be read as YAML. The graph shows how it was before.
          </Text>
        )}
        <GraphPane
          label={`Graph of ${template?.name ?? "nothing"}`}
          drawing={shown.drawing}
          page={template ? `${template.document}/${template.kind}/${template.name}` : ""}
          chosen={task?.name}
          editable={editing.readable && template !== undefined && isGroup(template.kind)}
          onChoose={shown.choose}
          onOpen={actions.open}
          onConnect={actions.connect}
          onDisconnect={actions.disconnect}
          onRemove={actions.remove}
          onDrop={(what, on) => actions.add(what as Choice, on)}
          onUndo={editing.undo}
          onRedo={editing.redo}
        />
      </div>
      {template && (
        <section
          className="form-pane"
          aria-label={task ? `Fields of ${task.name}` : `Fields of ${template.name}`}
          tabIndex={0}
        >
          {task ? (
            <TaskPart
              key={`${template.name}/${task.name}`}
              editing={editing}
              home={template}
              name={task.name}
              onRenamed={(name) => shown.show(whereOf(template), name)}
              onOpen={(name) => shown.show({ document: template.document, template: name })}
              onRemove={() => actions.remove([task.name])}
            />
          ) : (
            <TemplatePart key={template.name} editing={editing} template={template} onShow={shown.show} />
          )}
        </section>
      )}
    </>
  );
}

/** What the graph can be asked to do, as edits of the text. */
function actionsOn(editing: Editing, { template, show }: Shown) {
  return {
    add(choice: Choice, after: string | undefined): void {
      if (!template) return;
      const made = additionOf(editing.model, template, choice, after);
      if (editing.apply(made.make)) show(made.where, made.name);
    },
    open(id: string): void {
      const task = template?.tasks.find((each) => each.name === id);
      const called = template && task && calledBy(editing.model, template, task);
      if (called) show(whereOf(called));
    },
    connect(from: string, to: string): void {
      if (template) editing.apply((source) => addEdge(source, whereOf(template), from, to));
    },
    disconnect(pairs: readonly { source: string; target: string }[]): void {
      if (!template) return;
      for (const { source: from, target: to } of pairs) {
        editing.apply((source) => removeEdge(source, whereOf(template), from, to));
      }
    },
    remove(names: readonly string[]): void {
      if (!template || !isGroup(template.kind)) return;
      for (const name of names) editing.apply((source) => removeTask(source, whereOf(template), name));
    },
  };
}

interface PickerProps {
  readonly editing: Editing;
  readonly template: Template | undefined;
  readonly onShow: (where: Where) => void;
}

function TemplatePicker({ editing, template, onShow }: PickerProps) {
  const entry = entryOfModel(editing.model);
  const names = new Map(
    editing.model.templates.map((each) => [
      `${each.document}/${each.name}`,
      `${each.name || "(no name)"} · ${labelOf(each.kind)}${each === entry ? " · begins here" : ""}`,
    ]),
  );
  return (
    <Select
      size="xs"
      aria-label="Template"
      className="template-picker"
      data={[...names].map(([value, label]) => ({ value, label }))}
      value={template ? `${template.document}/${template.name}` : null}
      placeholder="none"
      allowDeselect={false}
      onChange={(value) => {
        const at = value?.indexOf("/") ?? -1;
        if (value && at > 0) onShow({ document: Number(value.slice(0, at)), template: value.slice(at + 1) });
      }}
    />
  );
}
