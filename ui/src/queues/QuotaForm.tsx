/** Changing a queue; what is saved takes effect at once. */
import { Button, Checkbox, Group, NumberInput, Select, SimpleGrid, Stack, TextInput, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { changeQueue, KUEUE, LOCAL, type Queue } from "../api/queues";
import { Problem, tellDone } from "../parts/Problem";

/** What the form holds; "" for what is not set. */
export interface Fields {
  description: string;
  quota_cpu: string;
  quota_memory: string;
  priority: number | "";
  max_parallel: number | "";
  guarantee_cpu: string;
  guarantee_memory: string;
  capability_cpu: string;
  capability_memory: string;
  sla_seconds: number | "";
  preemption: string;
  reclaimable: boolean;
}

/** Read a queue into the form. */
export function fieldsOf(queue: Queue): Fields {
  return {
    description: queue.description,
    quota_cpu: queue.quota["cpu"] ?? "",
    quota_memory: queue.quota["memory"] ?? "",
    priority: queue.priority,
    max_parallel: queue.max_parallel ?? "",
    guarantee_cpu: queue.guarantee?.["cpu"] ?? "",
    guarantee_memory: queue.guarantee?.["memory"] ?? "",
    capability_cpu: queue.capability?.["cpu"] ?? "",
    capability_memory: queue.capability?.["memory"] ?? "",
    sla_seconds: queue.sla_seconds ?? "",
    preemption: queue.preemption,
    reclaimable: queue.reclaimable,
  };
}

/** Give what is to be sent: only what differs. */
export function changeOf(before: Fields, after: Fields): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  const plain = ["description", "quota_cpu", "quota_memory", "priority", "max_parallel", "sla_seconds", "preemption", "reclaimable"] as const;
  for (const name of plain) if (after[name] !== before[name] && (after[name] !== "" || name === "description")) changed[name] = after[name];
  for (const side of ["guarantee", "capability"] as const) {
    const [cpu, memory] = [`${side}_cpu`, `${side}_memory`] as const;
    if (after[cpu] === before[cpu] && after[memory] === before[memory]) continue;
    changed[side] = { ...(after[cpu] && { cpu: after[cpu] }), ...(after[memory] && { memory: after[memory] }) };
  }
  return changed;
}

/** The form. */
export function QuotaForm({ queue }: { queue: Queue }) {
  const before = fieldsOf(queue);
  const [fields, setFields] = useState(before);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const changed = changeOf(before, fields);

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await changeQueue(queue.id, changed);
      tellDone(`${queue.name} changed`);
      await queries.invalidateQueries({ queryKey: ["queues"] });
      await queries.invalidateQueries({ queryKey: ["queue", queue.id] });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void save(event)} aria-label="Change the queue">
      <Stack gap="xs">
        <Title order={3} size="h6">
          Quota and limits
        </Title>
        <QuotaFields scheduler={queue.scheduler} fields={fields} onChange={(change) => setFields((known) => ({ ...known, ...change }))} />
        {error !== null && <Problem error={error} title="Not changed" />}
        <Group>
          <Button type="submit" size="xs" loading={busy} disabled={!Object.keys(changed).length}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface QuotaFieldsProps {
  scheduler: string;
  fields: Fields;
  onChange: (change: Partial<Fields>) => void;
}

/** The fields, for changing and for making. */
export function QuotaFields({ scheduler, fields, onChange }: QuotaFieldsProps) {
  // The others know neither of these; whom Volcano stops for whom is set for all of its queues.
  const ours = scheduler === LOCAL;
  const bounded = scheduler !== KUEUE;
  const text = (name: keyof Fields, label: string, placeholder: string) => (
    <TextInput size="xs" label={label} placeholder={placeholder} value={String(fields[name])} onChange={(event) => onChange({ [name]: event.currentTarget.value })} />
  );
  const number = (name: keyof Fields, label: string) => (
    <NumberInput size="xs" label={label} min={1} allowDecimal={name === "sla_seconds"} hideControls value={fields[name] as number | ""} onChange={(value) => onChange({ [name]: value === "" ? "" : Number(value) })} />
  );
  return (
    <>
      {text("description", "Description", "")}
      <SimpleGrid cols={{ base: 2 }} spacing="xs">
        {text("quota_cpu", "CPU quota", "2 or 500m")}
        {text("quota_memory", "Memory quota", "4Gi")}
        {bounded && text("guarantee_cpu", "CPU guaranteed", "none")}
        {bounded && text("guarantee_memory", "Memory guaranteed", "none")}
        {bounded && text("capability_cpu", "CPU at most", "as the quota")}
        {bounded && text("capability_memory", "Memory at most", "as the quota")}
        {number("priority", "Weight")}
        {ours && number("max_parallel", "Workflows at once")}
        {ours && number("sla_seconds", "Promised wait, seconds")}
        {(ours || !bounded) && <Select size="xs" label="Preemption" data={["Never", "LowerPriority", "LowerOrNewerEqualPriority"]} value={fields.preemption} onChange={(value) => onChange({ preemption: value ?? "Never" })} allowDeselect={false} />}
      </SimpleGrid>
      {bounded && <Checkbox size="xs" label="Others may take back what it borrowed" checked={fields.reclaimable} onChange={(event) => onChange({ reclaimable: event.currentTarget.checked })} />}
    </>
  );
}
