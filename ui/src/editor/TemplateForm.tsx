/** The fields of a template: what it runs, with which resources. */
import { NumberInput, SimpleGrid, Text } from "@mantine/core";

import { JobForm } from "./JobForm";
import { LineField, ListField, TextField } from "./fields";
import type { Value } from "./model/emit";
import { setTemplateField, whereOf } from "./model/edits";
import { type Template, asList, asMap, text } from "./model/read";
import type { Path } from "./model/source";
import type { Editing } from "./useEditing";

interface Props {
  readonly editing: Editing;
  readonly template: Template;
}

/** Resources that a form offers; others are written in the text. */
const RESOURCES: readonly [string, string, string][] = [
  ["cpu", "CPU", "500m"],
  ["memory", "Memory", "256Mi"],
  ["nvidia.com/gpu", "GPUs", "1"],
];

export function TemplateForm({ editing, template }: Props) {
  const where = whereOf(template);
  const disabled = !editing.readable;
  const set = (path: Path, value: Value | undefined) =>
    void editing.apply((source) => setTemplateField(source, where, path, value));
  const { kind } = template;
  if (kind === "container" || kind === "script") {
    const body = asMap(template.body[kind]);
    return (
      <div className="fields">
        <Runs body={body} kind={kind} disabled={disabled} set={set} />
        <Requests body={body} path={[kind]} disabled={disabled} set={set} />
        <Retries template={template} disabled={disabled} set={set} />
      </div>
    );
  }
  if (kind === "job") return <JobForm template={template} disabled={disabled} set={set} />;
  if (kind === "suspend") {
    const duration = text(asMap(template.body["suspend"])["duration"]);
    return (
      <LineField
        label="Duration"
        description="Empty: until somebody resumes it. Else seconds, or as 20s, 5m, 1h."
        value={duration}
        disabled={disabled}
        onCommit={(value) => set(["suspend", "duration"], value || undefined)}
      />
    );
  }
  return (
    <Text size="sm" className="quiet">
      What this runs is written in the text.
    </Text>
  );
}

interface PartProps {
  readonly disabled: boolean;
  readonly set: (path: Path, value: Value | undefined) => void;
}

function Runs({ body, kind, disabled, set }: PartProps & { body: Record<string, unknown>; kind: "container" | "script" }) {
  return (
    <>
      <LineField label="Image" value={text(body["image"])} mono disabled={disabled} onCommit={(value) => set([kind, "image"], value)} />
      <ListField
        label="Command"
        values={asList(body["command"]).map(text)}
        disabled={disabled}
        onCommit={(values) => set([kind, "command"], values.length > 0 ? values : undefined)}
      />
      {kind === "script" ? (
        <TextField
          label="Source"
          value={text(body["source"])}
          mono
          disabled={disabled}
          onCommit={(value) => set([kind, "source"], value.endsWith("\n") || !value.includes("\n") ? value : `${value}\n`)}
        />
      ) : (
        <ListField
          label="Arguments"
          values={asList(body["args"]).map(text)}
          disabled={disabled}
          onCommit={(values) => set([kind, "args"], values.length > 0 ? values : undefined)}
        />
      )}
    </>
  );
}

function Requests({ body, path, disabled, set }: PartProps & { body: Record<string, unknown>; path: Path }) {
  const requests = asMap(asMap(body["resources"])["requests"]);
  return (
    <SimpleGrid cols={3} spacing="xs">
      {RESOURCES.map(([name, label, hint]) => (
        <LineField
          key={name}
          label={label}
          value={text(requests[name])}
          placeholder={hint}
          disabled={disabled}
          onCommit={(value) => set([...path, "resources", "requests", name], value.trim() || undefined)}
        />
      ))}
    </SimpleGrid>
  );
}

function Retries({ template, disabled, set }: PartProps & { template: Template }) {
  const limit = text(asMap(template.body["retryStrategy"])["limit"]);
  return (
      <NumberInput
        size="xs"
        label="Retries"
        min={0}
        value={limit === "" ? "" : Number(limit)}
        disabled={disabled || (limit !== "" && Number.isNaN(Number(limit)))}
        onChange={(value) => set(["retryStrategy", "limit"], value === "" || value === 0 ? undefined : String(value))}
      />
  );
}
