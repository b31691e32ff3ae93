/** Making a schedule, or changing its text. */
import { Button, Group, Modal, Select, Stack, Textarea } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { stringify } from "yaml";

import { listProjects } from "../api/admin";
import { makeSchedule, replaceSchedule, type Schedule } from "../api/schedules";
import { Problem, tellDone } from "../parts/Problem";

const EXAMPLE = `apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata:
  name: nightly
spec:
  schedules: ["30 2 * * *"]
  timezone: UTC
  concurrencyPolicy: Forbid
  workflowSpec:
    entrypoint: main
    templates:
      - name: main
        container:
          image: alpine
          command: [echo, "{{workflow.scheduledTime}}"]
`;

/** Give the text of a schedule without what the server adds. */
export function textOf(schedule: Schedule): string {
  const manifest: Record<string, unknown> = { ...schedule.manifest };
  delete manifest["status"];
  const metadata = manifest["metadata"] as Record<string, unknown> | undefined;
  if (metadata) {
    const { uid: _, creationTimestamp: __, resourceVersion: ___, generation: ____, ...rest } = metadata;
    manifest["metadata"] = rest;
  }
  return stringify(manifest);
}

/** The form. */
export function ScheduleForm({ schedule, onClose }: { schedule?: Schedule; onClose: () => void }) {
  const [text, setText] = useState(() => (schedule ? textOf(schedule) : EXAMPLE));
  const [project, setProject] = useState(schedule?.project_id ?? "default");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queries = useQueryClient();

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      const made = schedule ? await replaceSchedule(schedule, text) : await makeSchedule(project, text);
      tellDone(`${made.name} saved`);
      await queries.invalidateQueries({ queryKey: ["schedules"] });
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }

  return (
    <Modal opened onClose={onClose} size="xl" title={schedule ? `Change ${schedule.name}` : "New schedule"} closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void save(event)}>
        <Stack>
          {!schedule && (
            <Select label="Project" data={(projects.data ?? []).map((each) => each.id)} value={project} onChange={(value) => setProject(value ?? "default")} allowDeselect={false} />
          )}
          <Textarea
            label="CronWorkflow"
            autosize
            minRows={14}
            maxRows={24}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            classNames={{ input: "mono" }}
            spellCheck={false}
            autoFocus
            data-autofocus
          />
          {error !== null && <Problem error={error} title="Not saved" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
