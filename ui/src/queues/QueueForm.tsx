/** Making a queue. */
import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { makeQueue, type Queue } from "../api/queues";
import { Problem, tellDone } from "../parts/Problem";
import { changeOf, QuotaFields, type Fields } from "./QuotaForm";

const NONE: Fields = {
  description: "",
  quota_cpu: "",
  quota_memory: "",
  priority: "",
  max_parallel: "",
  guarantee_cpu: "",
  guarantee_memory: "",
  capability_cpu: "",
  capability_memory: "",
  sla_seconds: "",
  preemption: "Never",
  reclaimable: true,
};

/** The form. */
export function QueueForm({ queues, onClose }: { queues: Queue[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [parent, setParent] = useState("root");
  const [fields, setFields] = useState(NONE);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      await makeQueue({ name, ...(parent !== "root" && { parent }), ...changeOf(NONE, fields) });
      tellDone(`${name} made`);
      await queries.invalidateQueries({ queryKey: ["queues"] });
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }

  return (
    <Modal opened onClose={onClose} title="New queue" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void make(event)}>
        <Stack gap="xs">
          <TextInput size="xs" label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
          <Select
            size="xs"
            label="Below"
            data={[{ value: "root", label: "(top)" }, ...queues.map((queue) => ({ value: queue.name, label: queue.name }))]}
            value={parent}
            onChange={(value) => setParent(value ?? "root")}
            allowDeselect={false}
          />
          <QuotaFields fields={fields} onChange={(change) => setFields((known) => ({ ...known, ...change }))} />
          {error !== null && <Problem error={error} title="Not made" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} disabled={!name}>
              Make
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
