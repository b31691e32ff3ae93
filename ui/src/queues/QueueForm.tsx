/** Making a queue. */
import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { KUEUE, LOCAL, makeQueue, type Queue } from "../api/queues";
import { listSchedulers } from "../api/schedulers";
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

/** What stands above all queues; none of them has this name. */
const TOP = "root";

/** The form. */
export function QueueForm({ queues, onClose }: { queues: Queue[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [scheduler, setScheduler] = useState(LOCAL);
  const [parent, setParent] = useState(TOP);
  const [fields, setFields] = useState(NONE);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const known = useQuery({ queryKey: ["schedulers"], queryFn: listSchedulers });
  const withKueue = known.data?.available.includes(KUEUE) ? [KUEUE] : [];
  const schedulers = [...new Set([LOCAL, ...queues.map((queue) => queue.scheduler), ...withKueue])];
  const theirs = queues.filter((queue) => queue.scheduler === scheduler);
  const above = new Set(theirs.map((queue) => (scheduler === KUEUE ? queue.parent : queue.name)));
  above.delete(TOP);

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      await makeQueue({ name, scheduler, ...(parent !== TOP && { parent }), ...changeOf(NONE, fields) });
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
          <TextInput size="xs" label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus data-autofocus />
          {schedulers.length > 1 && (
            <Select
              size="xs"
              label="Scheduler"
              data={schedulers}
              value={scheduler}
              onChange={(value) => {
                setScheduler(value ?? LOCAL);
                setParent(TOP);
              }}
              allowDeselect={false}
            />
          )}
          <Select
            size="xs"
            label="Below"
            data={[{ value: TOP, label: "(top)" }, ...above]}
            value={parent}
            onChange={(value) => setParent(value ?? TOP)}
            allowDeselect={false}
          />
          <QuotaFields scheduler={scheduler} fields={fields} onChange={(change) => setFields((known) => ({ ...known, ...change }))} />
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
