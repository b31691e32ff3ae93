/** The fields of a task: its name, what it runs, what it waits for, conditions and loops. */
import { Button, Group, MultiSelect, NumberInput, Select, Text } from "@mantine/core";

import { LineField, TextField } from "./fields";
import { labelOf } from "./kinds";
import type { Value } from "./model/emit";
import { addEdge, moveToGroup, removeEdge, renameTask, setLoop, setTaskField, whereOf } from "./model/edits";
import { LOOPS, type LoopKind, type Task, type Template, asList, asMap, calledBy, isGroup, text } from "./model/read";
import type { Edit, Path, Source } from "./model/source";
import type { Editing } from "./useEditing";

interface Props {
  readonly editing: Editing;
  readonly home: Template;
  readonly task: Task;
  readonly onRenamed: (name: string) => void;
  readonly onOpen: (template: string) => void;
  readonly onRemove: () => void;
}

export function TaskForm({ editing, home, task, onRenamed, onOpen, onRemove }: Props) {
  const where = whereOf(home);
  const disabled = !editing.readable;
  const apply = (make: (source: Source) => Edit) => editing.apply(make);
  const set = (path: Path, value: Value | undefined) =>
    void apply((source) => setTaskField(source, where, task.name, path, value));
  const called = calledBy(editing.model, home, task);
  const calls = home.kind === "dag" || home.kind === "steps";
  return (
    <div className="fields">
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <div className="grow">
          <LineField
            label="Name"
            value={task.name}
            live={false}
            disabled={disabled}
            onCommit={(name) => { if (apply((source) => renameTask(source, where, task.name, name.trim()))) onRenamed(name.trim()); }}
          />
        </div>
        <Button size="xs" variant="default" disabled={disabled} onClick={onRemove}>
          Remove
        </Button>
      </Group>
      {calls && (
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <Select
            className="grow"
            size="xs"
            label="Runs"
            data={templatesOf(editing, home)}
            value={task.calls || null}
            placeholder={task.elsewhere || "a template"}
            disabled={disabled || task.elsewhere !== ""}
            onChange={(value) => { if (value) set(["template"], value); }}
          />
          {called && isGroup(called.kind) && (
            <Button size="xs" variant="default" onClick={() => onOpen(called.name)}>
              Open {called.name}
            </Button>
          )}
        </Group>
      )}
      <Order editing={editing} home={home} task={task} />
      {calls && called && <Arguments editing={editing} home={home} task={task} called={called} />}
      {calls && (
        <LineField
          label="When"
          description="It runs only if this holds."
          placeholder="{{tasks.check.outputs.result}} == yes"
          value={task.when}
          mono
          disabled={disabled}
          onCommit={(value) => set(["when"], value.trim() || undefined)}
        />
      )}
      {calls && <LoopFields editing={editing} home={home} task={task} />}
    </div>
  );
}

function templatesOf(editing: Editing, home: Template): { value: string; label: string }[] {
  const names = new Map(
    editing.model.templates
      .filter((each) => each.document === home.document && each.name !== "")
      .map((each) => [each.name, labelOf(each.kind)]),
  );
  return [...names].map(([value, kind]) => ({ value, label: `${value} (${kind})` }));
}

interface PartProps {
  readonly editing: Editing;
  readonly home: Template;
  readonly task: Task;
}

/** What it waits for. */
function Order({ editing, home, task }: PartProps) {
  const where = whereOf(home);
  const disabled = !editing.readable;
  if (home.kind === "steps") {
    return (
      <NumberInput
        size="xs"
        label="Group"
        description="Steps of one group run at the same time, groups one after another."
        min={1}
        value={task.group + 1}
        disabled={disabled}
        onChange={(value) => {
          if (typeof value !== "number" || value < 1 || value === task.group + 1) return;
          void editing.apply((source) => moveToGroup(source, where, task.name, value - 1));
        }}
      />
    );
  }
  const others = [...new Set(home.tasks.map((each) => each.name))].filter((name) => name !== task.name && name !== "");
  return (
    <>
      <MultiSelect
        size="xs"
        label="Waits for"
        data={others}
        value={task.needs.filter((each) => others.includes(each))}
        disabled={disabled || others.length === 0}
        placeholder={task.needs.length === 0 ? "nothing: begins at once" : ""}
        onChange={(names) => {
          for (const name of names.filter((each) => !task.needs.includes(each))) {
            void editing.apply((source) => addEdge(source, where, name, task.name));
          }
          for (const name of task.needs.filter((each) => !names.includes(each))) {
            void editing.apply((source) => removeEdge(source, where, name, task.name));
          }
        }}
      />
      {task.depends !== undefined && (
        <LineField
          label="Depends"
          description="With &&, ||, !, and states such as build.Failed."
          value={task.depends}
          mono
          disabled={disabled}
          onCommit={(value) =>
            void editing.apply((source) => setTaskField(source, where, task.name, ["depends"], value.trim() || undefined))
          }
        />
      )}
    </>
  );
}

/** The inputs of the template that it runs. */
function Arguments({ editing, home, task, called }: PartProps & { called: Template }) {
  const inputs = asList(asMap(called.body["inputs"])["parameters"]).map(asMap);
  const given = argumentsOf(editing, task, home);
  if (inputs.length === 0) return null;
  function set(name: string, value: string): void {
    const index = given.findIndex((each) => text(each["name"]) === name);
    const path: Path = ["arguments", "parameters", index === -1 ? given.length : index];
    void editing.apply((source) =>
      index === -1
        ? setTaskField(source, whereOf(home), task.name, path, { name, value })
        : setTaskField(source, whereOf(home), task.name, [...path, "value"], value),
    );
  }
  return (
    <>
      {inputs.map((input) => {
        const name = text(input["name"]);
        const found = given.find((each) => text(each["name"]) === name);
        return (
          <LineField
            key={name}
            label={`Input ${name}`}
            description={text(input["description"])}
            placeholder={text(input["value"] ?? input["default"])}
            value={text(found?.["value"])}
            mono
            disabled={!editing.readable || (found !== undefined && "valueFrom" in found)}
            onCommit={(value) => set(name, value)}
          />
        );
      })}
    </>
  );
}

function argumentsOf(editing: Editing, task: Task, home: Template): Record<string, unknown>[] {
  const whole = editing.source.documents[home.document]?.getIn([...task.path, "arguments", "parameters"]) as
    | { toJSON?: () => unknown }
    | undefined;
  return asList(whole?.toJSON?.()).map(asMap);
}

const LOOP_WORDS: Record<LoopKind, string> = {
  withItems: "for each item of a list",
  withParam: "for each item of a result",
  withSequence: "for each number of a range",
};

function LoopFields({ editing, home, task }: PartProps) {
  const where = whereOf(home);
  const disabled = !editing.readable;
  const set = (kind: LoopKind | undefined, value: Value = null) =>
    void editing.apply((source) => setLoop(source, where, task.name, kind ? { kind, value } : undefined));
  const { loop } = task;
  return (
    <>
      <Select
        size="xs"
        label="Loop"
        data={LOOPS.map((kind) => ({ value: kind, label: `${LOOP_WORDS[kind]} (${kind})` }))}
        value={loop?.kind ?? null}
        placeholder="once"
        clearable
        clearButtonProps={{ "aria-label": "No loop" }}
        disabled={disabled}
        onChange={(kind) => set((kind as LoopKind | null) ?? undefined, startOf(kind as LoopKind | null))}
      />
      {loop?.kind === "withItems" && (
        <TextField
          label="Items"
          description="One a line; {…} for maps."
          value={asList(loop.value).map(itemText).join("\n")}
          mono
          disabled={disabled || !Array.isArray(loop.value)}
          onCommit={(value) => set("withItems", value.split("\n").filter((line) => line.trim() !== "").map(itemOf))}
        />
      )}
      {loop?.kind === "withParam" && (
        <LineField label="List as JSON" value={text(loop.value)} mono disabled={disabled} onCommit={(value) => set("withParam", value)} />
      )}
      {loop?.kind === "withSequence" && (
        <Group gap="xs" grow>
          {(["start", "end", "count"] as const).map((key) => (
            <LineField
              key={key}
              label={key[0]?.toUpperCase() + key.slice(1)}
              value={text(asMap(loop.value)[key])}
              disabled={disabled}
              onCommit={(value) =>
                void editing.apply((source) =>
                  setTaskField(source, where, task.name, ["withSequence", key], value.trim() || undefined),
                )
              }
            />
          ))}
        </Group>
      )}
      {loop && (
        <Text size="xs" className="quiet">
          {"{{item}} is the item of each round."}
        </Text>
      )}
    </>
  );
}

function startOf(kind: LoopKind | null): Value {
  if (kind === "withItems") return ["one", "two"];
  if (kind === "withSequence") return { count: "3" };
  return "[1, 2, 3]";
}

function itemText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function itemOf(line: string): Value {
  try {
    const read = JSON.parse(line) as Value;
    return typeof read === "string" ? line : read;
  } catch {
    return line.trim();
  }
}
