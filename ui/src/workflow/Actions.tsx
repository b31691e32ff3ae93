/** What can be done with a workflow: buttons, and the forms behind those that ask for more. */
import { Button, Group, Menu, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { getYaml, type Summary, type Workflow } from "../api/workflows";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { tellDone, tellProblem } from "../parts/Problem";
import { DEEDS, deedsFor, perform, type Deed } from "../workflows/actions";
import { givenTo, parametersOf, type Parameter } from "./parameters";
import { ResumeForm } from "./ResumeForm";

interface ActionsProps {
  workflow: Workflow;
  /** The pauses that wait for somebody. */
  pauses: readonly string[];
}

/** The most likely two as buttons, the others in a menu. */
export function Actions({ workflow, pauses }: ActionsProps) {
  const [asked, setAsked] = useState<Deed | null>(null);
  const navigate = useNavigate();
  const deeds = deedsFor(workflow.status, workflow.suspended || pauses.length > 0);
  const first = deeds.slice(0, 2);
  const others = deeds.slice(2);
  return (
    <>
      {first.map((deed) => (
        <Button key={deed} variant="default" leftSection={<Icon name={DEEDS[deed].icon} size={16} />} onClick={() => setAsked(deed)}>
          {DEEDS[deed].label}
        </Button>
      ))}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" aria-label="More actions" px="xs">
            <Icon name="dots" />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {others.map((deed) => (
            <Menu.Item key={deed} leftSection={<Icon name={DEEDS[deed].icon} size={16} />} onClick={() => setAsked(deed)}>
              {DEEDS[deed].label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item
            leftSection={<Icon name="editor" size={16} />}
            onClick={() => void navigate({ to: "/editor", search: { workflow: workflow.id } })}
          >
            Open in the editor
          </Menu.Item>
          <Menu.Item
            leftSection={<Icon name="workflows" size={16} />}
            onClick={() => void navigate({ to: "/compare", search: { a: workflow.id } })}
          >
            Compare with another run
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asked && <Asked deed={asked} workflow={workflow} pauses={pauses} onClose={() => setAsked(null)} />}
    </>
  );
}

interface AskedProps extends ActionsProps {
  deed: Deed;
  onClose: () => void;
}

function Asked({ deed, workflow, pauses, onClose }: AskedProps) {
  const go = useDeed(workflow, deed);
  if (deed === "retry" || deed === "resubmit") return <AgainForm deed={deed} workflow={workflow} onGo={go} onClose={onClose} />;
  if (deed === "resume") return <ResumeForm workflow={workflow} waiting={pauses} onGo={go} onClose={onClose} />;
  return (
    <Confirm
      title={`${DEEDS[deed].label} ${workflow.name}?`}
      action={DEEDS[deed].label}
      danger={DEEDS[deed].danger}
      onConfirm={() => go({})}
      onClose={onClose}
    >
      {DEEDS[deed].question}
    </Confirm>
  );
}

/** Do it, tell of it, and go where it leads. */
function useDeed(workflow: Workflow, deed: Deed): (body: object) => Promise<boolean> {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async (body) => {
    try {
      const made = await perform(workflow.id, deed, body);
      tellDone(`${workflow.name} ${DEEDS[deed].done}`);
      if (deed === "delete") await navigate({ to: "/workflows" });
      else if (deed === "resubmit") await navigate({ to: "/workflows/$id", params: { id: (made as Summary).id } });
      else await Promise.all(["workflow", "graph", "timeline", "node"].map((name) => queries.invalidateQueries({ queryKey: [name, workflow.id] })));
      return true;
    } catch (error) {
      tellProblem(error, `${DEEDS[deed].label} did not work`);
      return false;
    }
  };
}

interface FormProps {
  deed: "retry" | "resubmit";
  workflow: Workflow;
  onGo: (body: object) => Promise<boolean>;
  onClose: () => void;
}

/** Run again, from where it failed or as a new one, with other parameters if wished. */
function AgainForm({ deed, workflow, onGo, onClose }: FormProps) {
  const { data: text } = useQuery({ queryKey: ["yaml", workflow.id], queryFn: () => getYaml(workflow.id) });
  const known = text === undefined ? [] : givenTo(parametersOf(text), workflow.parameters);
  const [changed, setChanged] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);

  async function go(): Promise<void> {
    setBusy(true);
    if (await onGo({ parameters: changed })) onClose();
    else setBusy(false);
  }

  return (
    <Modal opened onClose={onClose} title={`${DEEDS[deed].label} ${workflow.name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <Stack>
          <Text size="sm">
            {deed === "retry"
              ? "What failed runs again; what succeeded does not. A node can be run again from its own panel."
              : "It runs once more, as a new workflow."}
          </Text>
          {known.map((parameter) => (
            <ParameterField
              key={parameter.name}
              parameter={parameter}
              value={changed[parameter.name] ?? parameter.value}
              onChange={(value) => setChanged((before) => ({ ...before, [parameter.name]: value }))}
            />
          ))}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} autoFocus data-autofocus>
              {DEEDS[deed].label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface ParameterFieldProps {
  parameter: Parameter;
  value: string;
  onChange: (value: string) => void;
}

function ParameterField({ parameter, value, onChange }: ParameterFieldProps) {
  const { name, description, choices } = parameter;
  if (choices.length) {
    return (
      <Select label={name} description={description || undefined} data={choices} value={value} onChange={(chosen) => onChange(chosen ?? value)} allowDeselect={false} />
    );
  }
  return (
    <TextInput label={name} description={description || undefined} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
  );
}
