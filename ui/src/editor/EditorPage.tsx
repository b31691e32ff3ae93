/** The editor: a graph and its YAML side by side, two views of one text. */
import { Button, Loader, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { stringify } from "yaml";

import { listClusterTemplates, listTemplates } from "../api/admin";
import { getYaml } from "../api/workflows";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { Workbench } from "./Workbench";
import { BLANK, BLANK_FLOW, EXAMPLES, keepDraft, keptDraft, readExample } from "./draft";

interface Search {
  example?: string;
  workflow?: string;
  template?: string;
}

/** Find the text to begin with: what the address names, else what was being written. */
async function startText(search: Search): Promise<string> {
  if (search.example) return readExample(search.example) ?? BLANK;
  if (search.workflow) return getYaml(search.workflow);
  if (search.template) return templateText(search.template);
  return keptDraft() ?? BLANK;
}

async function templateText(address: string): Promise<string> {
  const [project, name] = address.includes("/") ? address.split("/", 2) : [null, address];
  const all = project ? await listTemplates() : await listClusterTemplates();
  const found = all.find((each) => each.name === name && (each.project_id ?? null) === project);
  if (!found) throw new Error(`There is no template ${address}.`);
  return stringify(found.manifest);
}

export function EditorPage() {
  const search = useSearch({ strict: false }) as Search;
  const [round, setRound] = useState(0);
  const key = [search.example, search.workflow, search.template, round].join("|");
  const start = useQuery({
    queryKey: ["editor", key],
    queryFn: () => startText(search),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const navigate = useNavigate();

  function begin(text: string): void {
    keepDraft(text);
    void navigate({ to: "/editor", search: {} }).then(() => setRound((before) => before + 1));
  }

  if (start.isError) {
    return (
      <Page title="Editor">
        <Problem error={start.error} onRetry={() => void start.refetch()} />
      </Page>
    );
  }
  if (start.data === undefined) {
    return (
      <Page title="Editor">
        <Loader aria-label="Loading" />
      </Page>
    );
  }
  return <Workbench key={key} start={start.data} begin={<Begin onBegin={begin} />} />;
}

/** The menu of things to start from. What is written is asked about before it goes. */
function Begin({ onBegin }: { onBegin: (text: string) => void }) {
  const [wanted, setWanted] = useState<string>();
  const file = useRef<HTMLInputElement>(null);

  function ask(text: string | undefined): void {
    if (text === undefined) return;
    const written = keptDraft();
    if (!written || written === BLANK || written === text) onBegin(text);
    else setWanted(text);
  }

  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="xs" variant="default" rightSection={<Icon name="down" size={14} />}>
            New
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} className="scrolls">
          <Menu.Item onClick={() => ask(BLANK)}>Empty workflow</Menu.Item>
          <Menu.Item onClick={() => ask(BLANK_FLOW)}>Empty JobFlow</Menu.Item>
          <Menu.Item onClick={() => file.current?.click()}>From a file…</Menu.Item>
          <Menu.Divider />
          <Menu.Label>Examples</Menu.Label>
          {EXAMPLES.map((name) => (
            <Menu.Item key={name} onClick={() => ask(readExample(name))}>
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <input
        ref={file}
        type="file"
        accept=".yaml,.yml,.json"
        hidden
        aria-label="Open a file"
        onChange={(event) => {
          const [chosen] = event.currentTarget.files ?? [];
          event.currentTarget.value = "";
          void chosen?.text().then((text) => ask(text.replaceAll("\r\n", "\n")));
        }}
      />
      {wanted !== undefined && (
        <Confirm
          title="Replace what is written?"
          action="Replace"
          onConfirm={() => onBegin(wanted)}
          onClose={() => setWanted(undefined)}
        >
          The text in the editor is not kept elsewhere. Download it first if you need it.
        </Confirm>
      )}
    </>
  );
}

