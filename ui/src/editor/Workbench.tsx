/** Graph, fields and text of one workflow, with what is above and below them. */
import { ActionIcon, Button, Group, SegmentedControl, Tooltip } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { GraphSide } from "./GraphSide";
import { Problems } from "./Problems";
import { SaveTemplate } from "./SaveTemplate";
import { keepDraft } from "./draft";
import { isKeepable } from "./model/template";
import { type Editing, useEditing } from "./useEditing";

interface Props {
  readonly start: string;
  readonly begin: ReactNode;
}

export function Workbench({ start, begin }: Props) {
  const editing = useEditing(start);
  const narrow = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  const [side, setSide] = useState("graph");
  const shows = (which: string) => !narrow || side === which;
  return (
    <Page title="Editor" actions={<Actions editing={editing} begin={begin} />}>
      {narrow && (
        <SegmentedControl
          fullWidth
          size="xs"
          aria-label="What to show"
          data={[
            { value: "graph", label: "Graph" },
            { value: "text", label: "YAML" },
          ]}
          value={side}
          onChange={setSide}
        />
      )}
      <div className={narrow ? "bench is-narrow" : "bench"}>
        <div className="bench-side" hidden={!shows("graph")}>
          <GraphSide editing={editing} />
        </div>
        <div className="bench-side" hidden={!shows("text")}>
          <div className="code-pane" ref={editing.mount} />
          <Problems editing={editing} />
        </div>
      </div>
    </Page>
  );
}

function Actions({ editing, begin }: { editing: Editing; begin: ReactNode }) {
  const navigate = useNavigate();
  const [saving, setSaving] = useState(false);
  function submit(): void {
    keepDraft(editing.text);
    void navigate({ to: "/submit", search: { from: "editor" } });
  }
  return (
    <Group gap={6}>
      <Tooltip label="Undo (Ctrl Z)">
        <ActionIcon variant="default" size={30} aria-label="Undo" disabled={editing.undos === 0} onClick={editing.undo}>
          <Icon name="undo" size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Redo (Ctrl Y)">
        <ActionIcon variant="default" size={30} aria-label="Redo" disabled={editing.redos === 0} onClick={editing.redo}>
          <Icon name="redo" size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Download as a file">
        <ActionIcon variant="default" size={30} aria-label="Download" onClick={() => download(editing)}>
          <Icon name="download" size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Save as template">
        <ActionIcon
          variant="default"
          size={30}
          aria-label="Save as template"
          disabled={!editing.readable || !isKeepable(editing.model.main?.kind)}
          onClick={() => setSaving(true)}
        >
          <Icon name="templates" size={16} />
        </ActionIcon>
      </Tooltip>
      {saving && <SaveTemplate editing={editing} onClose={() => setSaving(false)} />}
      {begin}
      <Button size="xs" leftSection={<Icon name="submit" size={14} />} onClick={submit}>
        Submit…
      </Button>
    </Group>
  );
}

function download(editing: Editing): void {
  const name = editing.model.main?.name.replace(/-$/, "") || "workflow";
  const address = URL.createObjectURL(new Blob([editing.text], { type: "application/yaml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.yaml`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
