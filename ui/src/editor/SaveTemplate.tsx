/** Keep what is written as a template, for a project or for all. */
import { Button, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";

import { listProjects, saveTemplate } from "../api/admin";
import { Problem, tellDone } from "../parts/Problem";
import { templateOf } from "./model/template";
import { nameFor } from "./submission";
import type { Editing } from "./useEditing";

const FOR_ALL = "";

/** The question for its name and project. */
export function SaveTemplate({ editing, onClose }: { editing: Editing; onClose: () => void }) {
  const [name, setName] = useState(() => nameFor(editing.model.main));
  const [project, setProject] = useState("default");
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queries = useQueryClient();
  const navigate = useNavigate();
  const saving = useMutation({
    mutationFn: async () => saveTemplate(project, templateOf(editing.source, name.trim(), project === FOR_ALL)),
    onSuccess: async (made) => {
      tellDone(`${made.name} saved`);
      await queries.invalidateQueries({ queryKey: ["templates"] });
      onClose();
      void navigate({ to: "/templates", search: { template: made.project_id ? `${made.project_id}/${made.name}` : made.name } });
    },
  });

  function save(event: FormEvent): void {
    event.preventDefault();
    saving.mutate();
  }

  return (
    <Modal opened onClose={onClose} title="Save as template" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={save}>
        <Stack>
          <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus data-autofocus />
          <Select
            label="Project"
            data={[...(projects.data ?? []).map((each) => each.id), { value: FOR_ALL, label: "for all (ClusterWorkflowTemplate)" }]}
            value={project}
            onChange={(value) => setProject(value ?? FOR_ALL)}
            allowDeselect={false}
          />
          <Text size="sm" className="quiet">
            One of the same name is replaced. Runs that are under way keep what they began with.
          </Text>
          {saving.isError && <Problem error={saving.error} title="Not saved" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={saving.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
