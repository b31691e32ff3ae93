/** Let a workflow go on: all of it or one pause, with the values that the pause waits for. */
import { Button, Group, Loader, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { getNode, type Node, type Workflow } from "../api/workflows";

interface ResumeFormProps {
  workflow: Workflow;
  /** The pauses that wait. */
  waiting: readonly string[];
  onGo: (body: object) => Promise<boolean>;
  onClose: () => void;
}

/** Give the names of the values that a pause takes. */
export function suppliedOf(node: Node): string[] {
  const found = node.outputs?.["parameters"];
  if (!Array.isArray(found)) return [];
  return (found as { name: string; valueFrom?: { supplied?: object } }[])
    .filter((each) => each.valueFrom?.supplied !== undefined)
    .map((each) => each.name);
}

/** So many pauses can be chosen from; all of them go on together, however many there are. */
const MOST = 50;

/** Read the pauses that wait. */
async function readPauses(workflow: string, waiting: readonly string[]): Promise<Node[]> {
  return Promise.all(waiting.slice(0, MOST).map((id) => getNode(workflow, id)));
}

/** The form. */
export function ResumeForm({ workflow, waiting, onGo, onClose }: ResumeFormProps) {
  const { data: pauses } = useQuery({
    queryKey: ["node", workflow.id, "pauses", waiting.join()],
    queryFn: () => readPauses(workflow.id, waiting),
  });
  const [chosen, setChosen] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);
  const pause = pauses?.find((each) => each.id === chosen) ?? (pauses?.length === 1 ? pauses[0] : undefined);
  const wanted = pause ? suppliedOf(pause) : [];

  async function go(): Promise<void> {
    setBusy(true);
    const selector = pause && (wanted.length || (pauses?.length ?? 0) > 1) ? `id=${pause.id}` : "";
    if (await onGo({ node_selector: selector, parameters: values, message })) onClose();
    else setBusy(false);
  }

  return (
    <Modal opened onClose={onClose} title={`Resume ${workflow.name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <Stack>
          {pauses === undefined && <Loader size="sm" />}
          <Text size="sm">{pause ? `“${pause.display_name}” goes on.` : "What was suspended goes on."}</Text>
          {(pauses?.length ?? 0) > 1 && (
            <Select
              label="Which pause"
              data={[{ value: "", label: "All of them" }, ...pauses!.map((each) => ({ value: each.id, label: each.display_name }))]}
              value={chosen}
              onChange={(value) => setChosen(value ?? "")}
            />
          )}
          {wanted.map((name) => (
            <TextInput
              key={name}
              label={name}
              value={values[name] ?? ""}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setValues((before) => ({ ...before, [name]: value }));
              }}
            />
          ))}
          {pause && <TextInput label="Message" description="Kept with the node." value={message} onChange={(event) => setMessage(event.currentTarget.value)} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} autoFocus data-autofocus>
              Resume
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
