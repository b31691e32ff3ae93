/** ⌘K: pages and workflows by name, and what can be done. */
import { Combobox, Loader, Modal, Text, TextInput, useCombobox, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { listWorkflows } from "../api/workflows";
import { Icon } from "../parts/Icon";
import { StatusMark } from "../parts/Status";
import { Ago } from "../parts/Time";
import { PLACES } from "./places";

/** The id of a workflow, as the server writes it. */
const ID = /^wf-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface PaletteProps {
  opened: boolean;
  onClose: () => void;
}

/** The palette. */
export function Palette({ opened, onClose }: PaletteProps) {
  return (
    // Without a transition, and with the field focused as it appears: who types on at once loses no letter.
    <Modal.Root opened={opened} onClose={onClose} size="lg" yOffset="10vh" transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label="Search and commands">
        <Modal.Body p={0}>{opened && <Choices onClose={onClose} />}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function useFound(text: string) {
  const [wanted] = useDebouncedValue(text.trim(), 150);
  return useQuery({
    queryKey: ["palette", wanted],
    queryFn: ({ signal }) => listWorkflows({ name: wanted }, 1, 8, signal),
    placeholderData: (before) => before,
  });
}

function Choices({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const combobox = useCombobox({ opened: true });
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const found = useFound(text);
  const matches = (label: string) => label.toLowerCase().includes(text.trim().toLowerCase());
  const places = PLACES.filter((place) => matches(place.label));
  const commands = (["light", "dark", "auto"] as const).filter((each) =>
    matches(`theme ${each === "auto" ? "system" : each}`),
  );
  const id = ID.exec(text.trim())?.[0];
  const workflows = (found.data?.items ?? []).filter((each) => matches(each.name));
  const shown = [...places.map((place) => place.to), ...workflows.map((each) => each.id)].join();
  useEffect(() => {
    combobox.selectFirstOption();
  }, [text, shown]);

  function choose(value: string): void {
    onClose();
    const [kind, rest = ""] = value.split(/:(.*)/s);
    if (kind === "page") void navigate({ to: rest });
    if (kind === "workflow") void navigate({ to: "/workflows/$id", params: { id: rest } });
    if (kind === "theme") setColorScheme(rest as "light" | "dark" | "auto");
    if (kind === "search") void navigate({ to: "/workflows", search: { name: rest } });
  }

  return (
    <Combobox store={combobox} onOptionSubmit={choose}>
      <Combobox.EventsTarget>
        <TextInput
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          placeholder="A page, a workflow, a command"
          aria-label="Search pages, workflows and commands"
          size="lg"
          variant="unstyled"
          px="md"
          autoFocus
          data-autofocus
          leftSection={<Icon name="search" />}
          rightSection={found.isFetching ? <Loader size="xs" /> : null}
        />
      </Combobox.EventsTarget>
      <Combobox.Options className="palette-options">
        {places.map((place) => (
          <Combobox.Option key={place.to} value={`page:${place.to}`}>
            <Icon name={place.icon} size={16} /> {place.label}
          </Combobox.Option>
        ))}
        {workflows.map((each) => (
          <Combobox.Option key={each.id} value={`workflow:${each.id}`} className="palette-row">
            <StatusMark status={each.status} size={14} />
            <span className="cut">{each.name}</span>
            <Text size="xs" className="quiet" component="span">
              <Ago at={each.created_at} />
            </Text>
          </Combobox.Option>
        ))}
        {commands.map((each) => (
          <Combobox.Option key={each} value={`theme:${each}`}>
            Theme: {each === "auto" ? "system" : each}
          </Combobox.Option>
        ))}
        {id && <Combobox.Option value={`workflow:${id}`}>Open the workflow {id}</Combobox.Option>}
        {text.trim() && !id && (
          <Combobox.Option value={`search:${text.trim()}`}>
            All workflows whose name holds “{text.trim()}”
          </Combobox.Option>
        )}
      </Combobox.Options>
    </Combobox>
  );
}
