/** Projects: walls between teams. */
import { ActionIcon, Button, Group, Loader, Modal, Paper, Stack, Table, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { listProjects, makeProject, removeProject, type Project } from "../api/admin";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { Problem, tellDone, tellProblem } from "../parts/Problem";
import { Ago } from "../parts/Time";

/** The tab. */
export function ProjectsTab({ mayChange }: { mayChange: boolean }) {
  const { data, error, refetch } = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queries = useQueryClient();
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<Project | null>(null);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  return (
    <Stack align="flex-start">
      {mayChange && (
        <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
          New project
        </Button>
      )}
      <Paper withBorder className="scroll-x" w="100%" tabIndex={0} role="group" aria-label="Projects">
        <Table miw={480}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Id</Table.Th>
              <Table.Th>Name</Table.Th>
              <Table.Th>About</Table.Th>
              <Table.Th>Made</Table.Th>
              <Table.Th>
                <span className="visually-hidden">Actions</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.map((project) => (
              <Table.Tr key={project.id}>
                <Table.Td>{project.id}</Table.Td>
                <Table.Td className="wrap-anywhere">{project.name}</Table.Td>
                <Table.Td className="wrap-anywhere">{project.description}</Table.Td>
                <Table.Td className="nowrap">
                  <Ago at={project.created_at} />
                </Table.Td>
                <Table.Td>
                  {mayChange && (
                    <ActionIcon variant="subtle" color="gray" aria-label={`Remove project ${project.id}`} onClick={() => setRemoving(project)}>
                      <Icon name="trash" size={16} />
                    </ActionIcon>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
      {making && <ProjectForm onClose={() => setMaking(false)} />}
      {removing && (
        <Confirm
          title={`Remove project ${removing.id}?`}
          action="Remove"
          danger
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            try {
              await removeProject(removing.id);
              tellDone(`${removing.id} removed`);
            } catch (problem) {
              tellProblem(problem, "The project stays");
            }
            await queries.invalidateQueries({ queryKey: ["projects"] });
          }}
        >
          Its tokens go with it. A project that holds workflows or templates stays.
        </Confirm>
      )}
    </Stack>
  );
}

function ProjectForm({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [error, setError] = useState<unknown>(null);
  const queries = useQueryClient();

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    try {
      await makeProject({ id, name, description });
      tellDone(`${id} made`);
      await queries.invalidateQueries({ queryKey: ["projects"] });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  }

  return (
    <Modal opened onClose={onClose} title="New project" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void make(event)}>
        <Stack>
          <TextInput label="Id" description="Letters a-z, digits and '-'" required value={id} onChange={(event) => setId(event.currentTarget.value)} autoFocus data-autofocus />
          <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <TextInput label="About" value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
          {error !== null && <Problem error={error} title="Not made" />}
          <Group justify="flex-end">
            <Button type="submit" disabled={!id}>
              Make
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
