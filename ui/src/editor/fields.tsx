/** Fields that write into the text: when one stops typing for a moment, and when one leaves them. */
import { ActionIcon, Button, Group, Stack, Text, TextInput, Textarea } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { Icon } from "../parts/Icon";

interface Draft {
  readonly value: string;
  readonly set: (value: string) => void;
  readonly flush: () => void;
  readonly onFocus: () => void;
}

const PAUSE = 500;

/** Hold what is typed; give it on after a pause, or at once with `flush`. */
function useDraft(given: string, onCommit: (value: string) => void, live: boolean): Draft {
  const [value, setValue] = useState(given);
  const focused = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef({ given, onCommit, value });
  latest.current = { given, onCommit, value };
  useEffect(() => {
    if (!focused.current) setValue(given);
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);

  function commit(): void {
    clearTimeout(timer.current);
    const now = latest.current;
    if (now.value !== now.given) now.onCommit(now.value);
  }
  return {
    value,
    set: (next) => {
      setValue(next);
      latest.current.value = next;
      clearTimeout(timer.current);
      if (live) timer.current = setTimeout(commit, PAUSE);
    },
    flush: () => {
      focused.current = false;
      commit();
      // What was refused goes back to what is in the text.
      setTimeout(() => { if (!focused.current) setValue(latest.current.given); }, 50);
    },
    onFocus: () => { focused.current = true; },
  };
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onCommit: (value: string) => void;
  readonly description?: string;
  readonly placeholder?: string;
  /** Names are given on only when they are whole. */
  readonly live?: boolean;
  readonly disabled?: boolean;
  readonly mono?: boolean;
}

export function LineField({ label, value, onCommit, live = true, mono, ...rest }: FieldProps) {
  const draft = useDraft(value, onCommit, live);
  return (
    <TextInput
      {...rest}
      size="xs"
      label={label}
      value={draft.value}
      classNames={mono ? { input: "mono" } : {}}
      onChange={(event) => draft.set(event.currentTarget.value)}
      onFocus={draft.onFocus}
      onBlur={draft.flush}
      onKeyDown={(event) => { if (event.key === "Enter") event.currentTarget.blur(); }}
    />
  );
}

export function TextField({ label, value, onCommit, mono, ...rest }: FieldProps) {
  const draft = useDraft(value, onCommit, true);
  return (
    <Textarea
      {...rest}
      size="xs"
      label={label}
      value={draft.value}
      autosize
      minRows={1}
      maxRows={16}
      classNames={mono ? { input: "mono" } : {}}
      onChange={(event) => draft.set(event.currentTarget.value)}
      onFocus={draft.onFocus}
      onBlur={draft.flush}
    />
  );
}

interface ListProps {
  readonly label: string;
  readonly values: readonly string[];
  readonly onCommit: (values: string[]) => void;
  readonly disabled?: boolean;
}

/** A list of words, such as a command. */
export function ListField({ label, values, onCommit, disabled }: ListProps) {
  const change = (index: number, value: string) => onCommit(values.map((each, at) => (at === index ? value : each)));
  return (
    <Stack gap={4} role="group" aria-label={label}>
      <Text size="xs" fw={500}>
        {label}
      </Text>
      {values.map((value, index) => (
        <Group key={index} gap={4} wrap="nowrap" align="flex-start">
          <div className="grow">
            <Word label={`${label} ${index + 1}`} value={value} disabled={disabled ?? false} onCommit={(next) => change(index, next)} />
          </div>
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={disabled}
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => onCommit(values.filter((_, at) => at !== index))}
          >
            <Icon name="close" size={14} />
          </ActionIcon>
        </Group>
      ))}
      <Button size="compact-xs" variant="default" w="fit-content" disabled={disabled} onClick={() => onCommit([...values, ""])}>
        Add to {label.toLowerCase()}
      </Button>
    </Stack>
  );
}

function Word({ label, value, disabled, onCommit }: { label: string; value: string; disabled: boolean; onCommit: (value: string) => void }) {
  const draft = useDraft(value, onCommit, true);
  return (
    <Textarea
      size="xs"
      aria-label={label}
      value={draft.value}
      disabled={disabled}
      autosize
      minRows={1}
      maxRows={12}
      classNames={{ input: "mono" }}
      onChange={(event) => draft.set(event.currentTarget.value)}
      onFocus={draft.onFocus}
      onBlur={draft.flush}
    />
  );
}
