/** Where the workflow to submit comes from: the editor, a file, a template or an example. */
import { Button, Group, SegmentedControl, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";

import { type Template, listClusterTemplates, listTemplates } from "../api/admin";
import { BLANK, EXAMPLES, keptDraft, readExample, runTemplate } from "./draft";

export type From = "editor" | "file" | "template" | "example";

export interface Chosen {
  readonly from: From;
  /** The template (`project/name`, `name` for all) or the example. */
  readonly name: string;
}

export interface Given {
  readonly text: string;
  readonly template: Template | undefined;
}

export function templateKey(template: Template): string {
  return template.project_id ? `${template.project_id}/${template.name}` : template.name;
}

export function useTemplates() {
  return useQuery({
    queryKey: ["templates", "all"],
    queryFn: async () => (await Promise.all([listTemplates(), listClusterTemplates()])).flat(),
  });
}

/** Give the text that was chosen; undefined while there is none. */
export function givenBy(chosen: Chosen, file: string | undefined, templates: readonly Template[]): Given | undefined {
  switch (chosen.from) {
    case "editor":
      return { text: keptDraft() ?? BLANK, template: undefined };
    case "file":
      return file === undefined ? undefined : { text: file, template: undefined };
    case "example": {
      const text = readExample(chosen.name);
      return text === undefined ? undefined : { text, template: undefined };
    }
    case "template": {
      const template = templates.find((each) => templateKey(each) === chosen.name);
      return template && { text: runTemplate(template.name, !template.project_id), template };
    }
  }
}

interface Props {
  readonly chosen: Chosen;
  readonly templates: readonly Template[];
  readonly onChoose: (chosen: Chosen) => void;
  readonly onFile: (text: string) => void;
}

export function Origin({ chosen, templates, onChoose, onFile }: Props) {
  const file = useRef<HTMLInputElement>(null);
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        size="xs"
        aria-label="Submit from"
        data={[
          { value: "editor", label: "Editor" },
          { value: "file", label: "File" },
          { value: "template", label: "Template" },
          { value: "example", label: "Example" },
        ]}
        value={chosen.from}
        onChange={(from) => onChoose({ from: from as From, name: "" })}
      />
      {chosen.from === "editor" && (
        <Button size="xs" variant="default" component={Link} to="/editor">
          Back to the editor
        </Button>
      )}
      {chosen.from === "file" && (
        <>
          <Button size="xs" variant="default" onClick={() => file.current?.click()}>
            Choose a file
          </Button>
          <input
            ref={file}
            type="file"
            hidden
            accept=".yaml,.yml,.json"
            aria-label="File"
            onChange={(event) => {
              const [one] = event.currentTarget.files ?? [];
              event.currentTarget.value = "";
              void one?.text().then(onFile);
            }}
          />
        </>
      )}
      {chosen.from === "template" &&
        (templates.length === 0 ? (
          <Text size="sm" className="quiet">
            No templates are kept yet.
          </Text>
        ) : (
          <Select
            size="xs"
            aria-label="Template"
            searchable
            data={templates.map(templateKey)}
            value={chosen.name || null}
            placeholder="which one"
            onChange={(name) => onChoose({ from: "template", name: name ?? "" })}
          />
        ))}
      {chosen.from === "example" && (
        <Select
          size="xs"
          aria-label="Example"
          searchable
          data={EXAMPLES}
          value={chosen.name || null}
          placeholder="which one"
          onChange={(name) => onChoose({ from: "example", name: name ?? "" })}
        />
      )}
    </Group>
  );
}
