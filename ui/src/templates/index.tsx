/** Templates that are kept: those of projects and those for all; look, submit, add, remove. */
import { Anchor, Button, Group, Loader, Modal, Paper, Select, Stack, Table, Text, Textarea } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState, type FormEvent } from "react";
import { stringify } from "yaml";

import { listClusterTemplates, listProjects, listTemplates, removeTemplate, saveTemplate, type Template } from "../api/admin";
import { CodeLater } from "../parts/CodeLater";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { Empty, Page } from "../parts/Page";
import { Problem, tellDone, tellProblem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { Ago } from "../parts/Time";

const keyOf = (template: Template) => (template.project_id ? `${template.project_id}/${template.name}` : template.name);

async function listAll(): Promise<Template[]> {
  const [own, shared] = await Promise.all([listTemplates(), listClusterTemplates()]);
  return [...own, ...shared];
}

/** The page. */
export function TemplatesPage() {
  const [search, setSearch] = useAddress();
  const [making, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({ queryKey: ["templates"], queryFn: listAll });
  const chosen = data?.find((each) => keyOf(each) === search["template"]);
  return (
    <Page
      title="Templates"
      actions={
        <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
          New template
        </Button>
      }
    >
      {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loader size="sm" />}
      {data?.length === 0 && (
        <Empty title="No templates">A WorkflowTemplate is kept here and run with other parameters again and again.</Empty>
      )}
      {data && data.length > 0 && (
        <div className={`split split-late${chosen ? " split-open" : ""}`}>
          <Paper withBorder className="scroll-x top" tabIndex={0} role="group" aria-label="Templates">
            <Table miw={560}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Project</Table.Th>
                  <Table.Th>Templates in it</Table.Th>
                  <Table.Th>Changed</Table.Th>
                  <Table.Th>Run</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.map((template) => (
                  <Table.Tr key={keyOf(template)} className={template === chosen ? "list-marked" : undefined}>
                    <Table.Td>
                      <Anchor component="button" type="button" size="sm" fw={600} aria-expanded={template === chosen} onClick={() => setSearch({ template: template === chosen ? "" : keyOf(template) })}>
                        {template.name}
                      </Anchor>
                    </Table.Td>
                    <Table.Td>{template.project_id ?? "for all"}</Table.Td>
                    <Table.Td className="wrap-anywhere">{template.templates.join(", ")}</Table.Td>
                    <Table.Td className="nowrap">
                      <Ago at={template.updated_at} />
                    </Table.Td>
                    <Table.Td>
                      {template.entrypoint && (
                        <Anchor component={Link} to={`/submit?template=${encodeURIComponent(keyOf(template))}`} size="sm" aria-label={`Submit ${template.name}`}>
                          Submit
                        </Anchor>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Paper>
          {chosen && <Shown template={chosen} onClose={() => setSearch({ template: "" })} />}
        </div>
      )}
      {making && <TemplateForm onClose={() => setMaking(false)} />}
    </Page>
  );
}

function Shown({ template, onClose }: { template: Template; onClose: () => void }) {
  const queries = useQueryClient();
  const [removing, setRemoving] = useState(false);
  const text = useMemo(() => stringify(template.manifest), [template]);

  async function remove(): Promise<void> {
    try {
      await removeTemplate(template);
      tellDone(`${template.name} removed`);
      onClose();
    } catch (error) {
      tellProblem(error);
    }
    await queries.invalidateQueries({ queryKey: ["templates"] });
  }

  return (
    <Paper withBorder className="split-side text-side" component="section" aria-label={`Template ${template.name}`}>
      <Group justify="space-between" p="xs">
        <Text fw={600}>{template.name}</Text>
        <Group gap="xs">
          {template.entrypoint && (
            <Button size="xs" component={Link} to={`/submit?template=${encodeURIComponent(keyOf(template))}`}>
              Submit
            </Button>
          )}
          <Button size="xs" variant="default" component={Link} to={`/editor?template=${encodeURIComponent(keyOf(template))}`}>
            Open in the editor
          </Button>
          <Button size="xs" variant="default" onClick={() => setRemoving(true)}>
            Remove
          </Button>
          <Button size="xs" variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Group>
      <CodeLater text={text} label={`Template ${template.name}`} />
      {removing && (
        <Confirm title={`Remove ${template.name}?`} action="Remove" danger onConfirm={remove} onClose={() => setRemoving(false)}>
          Workflows that began with it keep it.
        </Confirm>
      )}
    </Paper>
  );
}

const EXAMPLE = `apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata:
  name: greet
spec:
  entrypoint: main
  arguments:
    parameters:
      - {name: who, value: world, description: Whom to greet}
  templates:
    - name: main
      container:
        image: alpine
        command: [echo, "hello {{workflow.parameters.who}}"]
`;

function TemplateForm({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState(EXAMPLE);
  const [project, setProject] = useState("default");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queries = useQueryClient();

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      const made = await saveTemplate(project, text);
      tellDone(`${made.name} saved`);
      await queries.invalidateQueries({ queryKey: ["templates"] });
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }

  return (
    <Modal opened onClose={onClose} size="xl" title="New template" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void save(event)}>
        <Stack>
          <Select
            label="Project"
            data={[...(projects.data ?? []).map((each) => each.id), { value: "", label: "for all (ClusterWorkflowTemplate)" }]}
            value={project}
            onChange={(value) => setProject(value ?? "")}
            allowDeselect={false}
          />
          <Textarea label="WorkflowTemplate" autosize minRows={14} maxRows={24} value={text} onChange={(event) => setText(event.currentTarget.value)} classNames={{ input: "mono" }} spellCheck={false} autoFocus data-autofocus />
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
