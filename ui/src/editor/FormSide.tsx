/** The fields below the graph: of the chosen task, or of the template itself. */
import { Button, Group, Stack, Text, Title } from "@mantine/core";

import { TaskForm } from "./TaskForm";
import { TemplateForm } from "./TemplateForm";
import { LineField } from "./fields";
import { labelOf } from "./kinds";
import { type Where, removeTemplate, renameTemplate, setDocumentField, whereOf } from "./model/edits";
import { type Template, calledBy, isGroup } from "./model/read";
import type { Editing } from "./useEditing";

interface TaskPartProps {
  readonly editing: Editing;
  readonly home: Template;
  readonly name: string;
  readonly onRenamed: (name: string) => void;
  readonly onOpen: (template: string) => void;
  readonly onRemove: () => void;
}

export function TaskPart({ editing, home, name, onRenamed, onOpen, onRemove }: TaskPartProps) {
  const task = home.tasks.find((each) => each.name === name);
  if (!task) return null;
  const called = calledBy(editing.model, home, task);
  const users = called ? editing.model.templates.flatMap((each) => each.tasks).filter((each) => each.calls === called.name).length : 0;
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        Task {task.name}
      </Title>
      <TaskForm editing={editing} home={home} task={task} onRenamed={onRenamed} onOpen={onOpen} onRemove={onRemove} />
      {called && !isGroup(called.kind) && (
        <Stack gap="xs">
          <Title order={3} size="h6">
            Template {called.name}
          </Title>
          {users > 1 && (
            <Text size="xs" className="quiet">
              {users} tasks run it: a change here is a change for all of them.
            </Text>
          )}
          <TemplateForm key={called.name} editing={editing} template={called} />
        </Stack>
      )}
    </Stack>
  );
}

export function TemplatePart({ editing, template, onShow }: { editing: Editing; template: Template; onShow: (where: Where) => void }) {
  const where = whereOf(template);
  const document = editing.model.documents[template.document];
  const disabled = !editing.readable;
  const isEntry = document?.entrypoint === template.name;
  const ours = template.kind !== "jobflow" && template.kind !== "job";
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        {labelOf(template.kind)} {template.name}
      </Title>
      {isGroup(template.kind) && (
        <Text size="sm" className="quiet">
          {template.tasks.length === 0
            ? "Nothing in it yet: add a box above, or drag one into the graph."
            : "Choose a box to change it. Drag from the lower dot of one box to the upper dot of another to make that one wait."}
        </Text>
      )}
      {ours && (
        <Group gap="xs" align="flex-end">
          <div className="grow">
            <LineField
              label="Name"
              value={template.name}
              live={false}
              disabled={disabled}
              onCommit={(name) => {
                const done = editing.apply((source) => renameTemplate(source, where, name.trim()));
                if (done) onShow({ ...where, template: name.trim() });
              }}
            />
          </div>
          <Button
            size="xs"
            variant="default"
            disabled={disabled || isEntry}
            onClick={() =>
              void editing.apply((source) =>
                setDocumentField(source, template.document, [...(document?.spec ?? ["spec"]), "entrypoint"], template.name),
              )
            }
          >
            Begin here
          </Button>
          <Button size="xs" variant="default" disabled={disabled || isEntry} onClick={() => void editing.apply((source) => removeTemplate(source, where))}>
            Remove
          </Button>
        </Group>
      )}
      {!isGroup(template.kind) && <TemplateForm editing={editing} template={template} />}
    </Stack>
  );
}
