/** The fields of a submission. */
import { Autocomplete, Button, Group, Select, SimpleGrid, Stack, Text, TextInput, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { listProjects } from "../api/admin";
import { listQueues, queueLabel } from "../api/queues";
import { listSchedulers } from "../api/schedulers";
import { Icon } from "../parts/Icon";
import { Card } from "../parts/Page";
import type { Parameter } from "./model/read";
import { PRIORITIES, type Typed, queuesFor } from "./submission";

interface Props {
  readonly typed: Typed;
  readonly parameters: readonly Parameter[];
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<Typed>) => void;
  readonly onSubmit: () => void;
  readonly busy: boolean;
}

export function SubmitForm({ typed, parameters, faults, onChange, onSubmit, busy }: Props) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Stack gap="md">
        <Card title="Parameters">
          {parameters.length === 0 ? (
            <Text size="sm" className="quiet">
              This workflow has none.
            </Text>
          ) : (
            <Stack gap="sm">
              {parameters.map((each) => (
                <ParameterField
                  key={each.name}
                  parameter={each}
                  value={typed.parameters[each.name]}
                  fault={faults[`parameters.${each.name}`]}
                  onChange={(value) => onChange({ parameters: { ...typed.parameters, [each.name]: value } })}
                />
              ))}
            </Stack>
          )}
        </Card>
        <Card title="Run">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <Word field="name" label="Name" required path="name" {...{ typed, faults, onChange }} />
            <Places typed={typed} faults={faults} onChange={onChange} />
            <Autocomplete
              size="xs"
              label="Priority"
              description="A word, or a number."
              placeholder="as the workflow says, else normal"
              data={[...PRIORITIES]}
              value={typed.priority}
              error={faults["priority"]}
              onChange={(priority) => onChange({ priority })}
            />
            <Word field="description" label="Description" description="For people." path="description" {...{ typed, faults, onChange }} />
            <Word field="cpu" label="Estimated CPU" placeholder="500m" path="estimated_cpu" {...{ typed, faults, onChange }} />
            <Word field="memory" label="Estimated memory" placeholder="1Gi" path="estimated_memory" {...{ typed, faults, onChange }} />
          </SimpleGrid>
          <Group justify="flex-end" mt="md">
            <Button type="submit" loading={busy} leftSection={<Icon name="submit" size={16} />}>
              Submit
            </Button>
          </Group>
        </Card>
      </Stack>
    </form>
  );
}

type PartProps = Pick<Props, "typed" | "faults" | "onChange">;

interface WordProps extends PartProps {
  readonly field: "name" | "description" | "cpu" | "memory";
  /** As the server calls it. */
  readonly path: string;
  readonly label: string;
  readonly description?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
}

function Word({ field, path, typed, faults, onChange, ...rest }: WordProps) {
  return (
    <TextInput
      {...rest}
      size="xs"
      value={typed[field]}
      error={faults[path]}
      onChange={(event) => onChange({ [field]: event.currentTarget.value })}
    />
  );
}

/** Project, scheduler and queue. */
function Places({ typed, faults, onChange }: PartProps) {
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queues = useQuery({ queryKey: ["queues"], queryFn: listQueues });
  const schedulers = useQuery({ queryKey: ["schedulers"], queryFn: listSchedulers });
  const usual = schedulers.data?.default;
  const open = queuesFor(queues.data ?? [], typed.scheduler ?? usual);
  return (
    <>
      <Select
        size="xs"
        label="Project"
        required
        allowDeselect={false}
        data={projects.data?.map((each) => ({ value: each.id, label: each.name || each.id })) ?? [typed.project]}
        value={typed.project}
        error={faults["project_id"]}
        onChange={(project) => onChange({ project: project ?? "" })}
      />
      <Select
        size="xs"
        label="Scheduler"
        placeholder={usual ? `as usual: ${usual}` : "as usual"}
        clearable
        clearButtonProps={{ "aria-label": "The usual scheduler" }}
        data={schedulers.data?.available ?? []}
        value={typed.scheduler}
        error={faults["scheduler"]}
        // Queues belong to their schedulers: the one that was chosen is not there any more.
        onChange={(scheduler) => onChange({ scheduler, queue: null })}
      />
      <Select
        size="xs"
        label="Queue"
        placeholder="the default one"
        clearable
        clearButtonProps={{ "aria-label": "The default queue" }}
        data={open.map((each) => ({ value: each.id, label: queueLabel(each) }))}
        value={typed.queue}
        error={faults["queue_id"]}
        onChange={(queue) => onChange({ queue })}
      />
    </>
  );
}

interface FieldProps {
  readonly parameter: Parameter;
  readonly value: string | undefined;
  readonly fault: string | undefined;
  readonly onChange: (value: string) => void;
}

function ParameterField({ parameter, value, fault, onChange }: FieldProps) {
  const { name, choices, description, fallback } = parameter;
  const shown = value ?? parameter.value ?? fallback ?? "";
  const about = {
    size: "xs",
    label: name,
    description: description || undefined,
    error: fault,
    placeholder: parameter.fromElsewhere ? "from elsewhere" : "",
  } as const;
  if (choices.length > 0) {
    return (
      <Select
        {...about}
        data={[...choices]}
        value={shown || null}
        allowDeselect={false}
        onChange={(next) => { if (next !== null) onChange(next); }}
      />
    );
  }
  if (shown.includes("\n")) {
    return (
      <Textarea
        {...about}
        autosize
        maxRows={10}
        value={shown}
        classNames={{ input: "mono" }}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return <TextInput {...about} value={shown} onChange={(event) => onChange(event.currentTarget.value)} />;
}
