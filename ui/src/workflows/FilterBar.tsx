/** The filters above the list; each change is a change of the address. */
import { Button, Group, MultiSelect, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { memo, useEffect, useRef, useState } from "react";

import { listProjects } from "../api/admin";
import { listQueues, queueLabel } from "../api/queues";
import { STATUSES } from "../api/workflows";
import { Icon } from "../parts/Icon";
import type { Search } from "../parts/search";
import { isFiltered, SPANS } from "./filters";

interface FilterBarProps {
  search: Search;
  onChange: (change: Search) => void;
}

/** All of them; drawn anew only when they change, not with every turn of the wheel. */
export const FilterBar = memo(function FilterBar({ search, onChange }: FilterBarProps) {
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects, staleTime: 30_000 });
  const queues = useQuery({ queryKey: ["queues"], queryFn: listQueues, staleTime: 30_000 });
  const statuses = (search["status"] ?? "").split(",").filter(Boolean);
  return (
    <Group gap="xs" align="flex-end" className="filters" role="search" aria-label="Filters">
      <NameField value={search["name"] ?? ""} onChange={(name) => onChange({ name })} />
      <MultiSelect
        aria-label="Status"
        placeholder={statuses.length ? undefined : "Any status"}
        data={[...STATUSES]}
        value={statuses}
        onChange={(value) => onChange({ status: value.join(",") })}
        clearable
        clearButtonProps={{ "aria-label": "Any status" }}
        w={220}
      />
      <Choice label="project" value={search["project"]} data={projects.data?.map((each) => ({ value: each.id, label: each.name || each.id }))} onChange={(project) => onChange({ project })} />
      <Choice label="queue" value={search["queue"]} data={queues.data?.map((each) => ({ value: each.id, label: queueLabel(each) }))} onChange={(queue) => onChange({ queue })} />
      <Choice label="time" value={search["since"]} data={Object.keys(SPANS).map((each) => ({ value: each, label: `last ${each}` }))} onChange={(since) => onChange({ since })} />
      <Choice label="newest first" value={search["sort"]} data={[{ value: "oldest", label: "oldest first" }]} onChange={(sort) => onChange({ sort })} bare />
      {isFiltered(search) && (
        <Button
          variant="subtle"
          onClick={() => onChange({ name: "", status: "", project: "", queue: "", since: "" })}
        >
          Clear
        </Button>
      )}
    </Group>
  );
});

interface ChoiceProps {
  label: string;
  value: string | undefined;
  data: { value: string; label: string }[] | undefined;
  onChange: (value: string) => void;
  bare?: boolean;
}

function Choice({ label, value, data = [], onChange, bare }: ChoiceProps) {
  const none = bare ? label : `Any ${label}`;
  return (
    <Select
      aria-label={bare ? "Order" : label}
      data={[{ value: "", label: none }, ...data]}
      value={value ?? ""}
      onChange={(chosen) => onChange(chosen ?? "")}
      allowDeselect={false}
      searchable={data.length > 12}
      w={140}
    />
  );
}

function NameField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const later = useDebouncedCallback((typed: string) => {
    sent.current = typed;
    onChange(typed);
  }, 250);
  useEffect(() => {
    // Only what comes from elsewhere: an echo of ours must not take away what was typed since.
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  return (
    <TextInput
      data-search
      aria-label="Search by name"
      placeholder="Name holds …"
      leftSection={<Icon name="search" size={16} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === "Escape") later.flush();
        if (event.key === "Escape") event.currentTarget.blur();
      }}
      w={220}
    />
  );
}
