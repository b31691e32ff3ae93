/** The fields of a JobTemplate: how many pods must be there, and what each of its tasks runs. */
import { NumberInput, Stack, Text } from "@mantine/core";

import { LineField, ListField } from "./fields";
import type { Value } from "./model/emit";
import { type Template, asList, asMap, text } from "./model/read";
import type { Path } from "./model/source";

interface Props {
  readonly template: Template;
  readonly disabled: boolean;
  readonly set: (path: Path, value: Value | undefined) => void;
}

export function JobForm({ template, disabled, set }: Props) {
  const tasks = asList(template.body["tasks"]).map(asMap);
  return (
    <Stack gap="sm">
      <div className="fields">
        <Count label="Pods that must be there" value={template.body["minAvailable"]} disabled={disabled} onChange={(value) => set(["minAvailable"], value)} />
        <LineField
          label="Queue"
          value={text(template.body["queue"])}
          placeholder="that of the flow"
          disabled={disabled}
          onCommit={(value) => set(["queue"], value.trim() || undefined)}
        />
      </div>
      {tasks.map((task, index) => (
        <Pods key={index} task={task} index={index} disabled={disabled} set={set} />
      ))}
    </Stack>
  );
}

interface PodsProps extends Omit<Props, "template"> {
  readonly task: Record<string, unknown>;
  readonly index: number;
}

/** What the pods of one task run: the first of their containers, the others are written in the text. */
function Pods({ task, index, disabled, set }: PodsProps) {
  const [first] = asList(asMap(asMap(task["template"])["spec"])["containers"]).map(asMap);
  const path: Path = ["tasks", index, "template", "spec", "containers", 0];
  return (
    <div role="group" aria-label={`Task ${text(task["name"])}`}>
      <Text size="sm" fw={600} mb={4}>
        {text(task["name"]) || `Task ${index + 1}`}
      </Text>
      <div className="fields">
        <Count label="Pods" value={task["replicas"]} disabled={disabled} onChange={(value) => set(["tasks", index, "replicas"], value)} />
        {first && (
          <>
            <LineField label="Image" value={text(first["image"])} mono disabled={disabled} onCommit={(value) => set([...path, "image"], value)} />
            <ListField
              label="Command"
              values={asList(first["command"]).map(text)}
              disabled={disabled}
              onCommit={(values) => set([...path, "command"], values.length > 0 ? values : undefined)}
            />
            <ListField
              label="Arguments"
              values={asList(first["args"]).map(text)}
              disabled={disabled}
              onCommit={(values) => set([...path, "args"], values.length > 0 ? values : undefined)}
            />
          </>
        )}
      </div>
    </div>
  );
}

interface CountProps {
  readonly label: string;
  readonly value: unknown;
  readonly disabled: boolean;
  readonly onChange: (value: number | undefined) => void;
}

function Count({ label, value, disabled, onChange }: CountProps) {
  return (
    <NumberInput
      size="xs"
      label={label}
      min={1}
      value={typeof value === "number" ? value : ""}
      disabled={disabled}
      onChange={(next) => onChange(typeof next === "number" ? next : undefined)}
    />
  );
}
