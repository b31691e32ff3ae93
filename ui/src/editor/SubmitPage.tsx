/** The form for submitting: where from, parameters, where it runs, and what would happen. */
import { Alert, Button, Loader, NumberInput, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";

import { ApiError, type Mistake } from "../api/client";
import { Card, Empty, Page } from "../parts/Page";
import { Problem, tellDone } from "../parts/Problem";
import { CodeView } from "./CodeView";
import { Gantt } from "./Gantt";
import { type Chosen, type From, type Given, Origin, givenBy, useTemplates } from "./Origin";
import { SubmitForm } from "./SubmitForm";
import { simulate, submit } from "./api";
import { type Parameter, parametersOf, readModel } from "./model/read";
import { readSource } from "./model/source";
import { type Typed, changedParameters, faultsOf, freshKey, nameFor, priorityOf, sortMistakes, submissionOf } from "./submission";

interface Search {
  from?: string;
  name?: string;
  template?: string;
  example?: string;
}

function chosenBy(search: Search): Chosen {
  if (search.template) return { from: "template", name: search.template };
  if (search.example) return { from: "example", name: search.example };
  const known: readonly string[] = ["editor", "file", "template", "example"];
  return { from: known.includes(search.from ?? "") ? (search.from as From) : "editor", name: "" };
}

export function SubmitPage() {
  const chosen = chosenBy(useSearch({ strict: false }) as Search);
  const navigate = useNavigate();
  const templates = useTemplates();
  const [file, setFile] = useState<string>();
  const given = givenBy(chosen, file, templates.data ?? []);

  function choose({ from, name }: Chosen): void {
    const search = name ? { [from]: name } : { from };
    void navigate({ to: "/submit", search, replace: true });
  }

  return (
    <Page title="Submit">
      <Origin chosen={chosen} templates={templates.data ?? []} onChoose={choose} onFile={setFile} />
      {chosen.from === "template" && templates.isError && <Problem error={templates.error} />}
      {chosen.from === "template" && templates.isLoading && <Loader aria-label="Loading" />}
      {given ? (
        <Submission key={`${chosen.from}/${chosen.name}/${given.text}`} given={given} />
      ) : (
        <Empty title="Nothing to submit yet">
          {chosen.from === "file" ? "Choose a file with a workflow in YAML or JSON." : "Choose one above."}
        </Empty>
      )}
    </Page>
  );
}

function Submission({ given }: { given: Given }) {
  const { main } = useMemo(() => readModel(readSource(given.text)), [given.text]);
  const parameters = useMemo(() => merged(main?.parameters ?? [], given), [main, given]);
  const [typed, setTyped] = useState<Typed>(() => ({
    name: nameFor(main),
    project: "default",
    queue: null,
    scheduler: null,
    priority: "",
    description: "",
    cpu: "",
    memory: "",
    parameters: {},
  }));
  const [tried, setTried] = useState(false);
  const navigate = useNavigate();
  const sent = useRef({ body: "", key: "" });
  const submitting = useMutation({
    mutationFn: () => {
      const body = submissionOf(typed, given.text, parameters);
      const written = JSON.stringify(body);
      // The same request again is the same submission; another one is not.
      if (sent.current.body !== written) sent.current = { body: written, key: freshKey() };
      return submit(body, sent.current.key);
    },
    onSuccess: (made) => {
      tellDone(`Submitted ${made.name}`);
      void navigate({ to: "/workflows/$id", params: { id: made.id } });
    },
  });
  const faults = faultsOf(typed, parameters);
  const { fields, text } = useMemo(() => sortMistakes(mistakesOf(submitting.error)), [submitting.error]);

  function go(): void {
    setTried(true);
    if (Object.keys(faults).length === 0) submitting.mutate();
  }

  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Stack gap="md">
        <SubmitForm
          typed={typed}
          parameters={parameters}
          faults={{ ...(tried ? faults : {}), ...fields }}
          onChange={(change) => setTyped((before) => ({ ...before, ...change }))}
          onSubmit={go}
          busy={submitting.isPending}
        />
        {submitting.isError && <Problem error={submitting.error} title="It was not submitted" />}
      </Stack>
      <Stack gap="md">
        <Simulating given={given} typed={typed} parameters={parameters} />
        <Card title="The workflow">
          <CodeView text={given.text} label="The workflow to submit" mistakes={text} />
        </Card>
      </Stack>
    </SimpleGrid>
  );
}

/** Parameters of the workflow itself, and those of the template that it runs. */
function merged(own: readonly Parameter[], given: Given): readonly Parameter[] {
  if (!given.template) return own;
  const theirs = parametersOf((given.template.manifest as { spec?: unknown }).spec);
  return [...own, ...theirs.filter((each) => !own.some((mine) => mine.name === each.name))];
}

function mistakesOf(error: unknown): readonly Mistake[] {
  return error instanceof ApiError ? error.mistakes : [];
}

interface SimulatingProps {
  readonly given: Given;
  readonly typed: Typed;
  readonly parameters: readonly Parameter[];
}

/** What would happen, beside what waits and runs now or without it. */
function Simulating({ given, typed, parameters }: SimulatingProps) {
  const [seconds, setSeconds] = useState(60);
  const [idle, setIdle] = useState(false);
  const [at, setAt] = useState(new Date());
  const run = useMutation({
    mutationFn: () => {
      setAt(new Date());
      // What it refers to stands beside it: JSON is YAML too.
      const text = given.template ? `${given.text}---\n${JSON.stringify(given.template.manifest)}\n` : given.text;
      return simulate({
        workflow_yaml: text,
        project_id: typed.project,
        parameters: changedParameters(typed, parameters),
        default_seconds: seconds,
        idle,
        queue_id: typed.queue,
        priority: priorityOf(typed),
      });
    },
  });
  return (
    <Card
      title="Simulate"
      actions={
        <Button size="xs" variant="default" loading={run.isPending} onClick={() => run.mutate()}>
          Simulate
        </Button>
      }
    >
      <Stack gap="sm">
        <NumberInput
          size="xs"
          label="A task takes, in seconds"
          description="Where nothing else says how long it takes."
          min={1}
          value={seconds}
          onChange={(value) => setSeconds(typeof value === "number" && value > 0 ? value : 60)}
        />
        <Switch
          size="xs"
          label="As if nothing else waited or ran"
          checked={idle}
          onChange={(event) => setIdle(event.currentTarget.checked)}
        />
        {run.isError && <Problem error={run.error} title="It cannot be simulated" />}
        {run.data && <Gantt simulation={run.data} at={at} />}
        {!run.data && !run.isError && (
          <Text size="sm" className="quiet">
            Plays the workflow through without running anything: when each task would start and end.
          </Text>
        )}
        {run.data?.gantt.length === 0 && <Alert color="yellow">Nothing would run.</Alert>}
      </Stack>
    </Card>
  );
}
