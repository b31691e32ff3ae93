/** Tokens: who may do what; the secret of a new one is shown once. */
import { ActionIcon, Alert, Button, Code, CopyButton, Group, Loader, Modal, Paper, Select, Stack, Table, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { listProjects, listTokens, makeToken, removeToken, type MadeToken, type Self, type Token } from "../api/admin";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Page";
import { Problem, tellDone, tellProblem } from "../parts/Problem";
import { Ago } from "../parts/Time";

const LIVES = [
  { value: "", label: "until it is removed" },
  { value: "86400", label: "1 day" },
  { value: "2592000", label: "30 days" },
  { value: "31536000", label: "1 year" },
];

/** The tab. */
export function TokensTab({ self }: { self: Self | undefined }) {
  const { data, error, refetch } = useQuery({ queryKey: ["tokens"], queryFn: listTokens });
  const queries = useQueryClient();
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<Token | null>(null);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  return (
    <Stack align="flex-start">
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
        New token
      </Button>
      {data.length === 0 ? (
        <Empty title="No tokens but the first admin's">Give each person and each program one of its own.</Empty>
      ) : (
        <Paper withBorder className="scroll-x" w="100%" tabIndex={0} role="group" aria-label="Tokens">
          <Table miw={600}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>Project</Table.Th>
                <Table.Th>Made</Table.Th>
                <Table.Th>Ends</Table.Th>
                <Table.Th>
                  <span className="visually-hidden">Actions</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.map((token) => (
                <Table.Tr key={token.id}>
                  <Table.Td className="wrap-anywhere">{token.name}</Table.Td>
                  <Table.Td>{token.role}</Table.Td>
                  <Table.Td>{token.project_id ?? "all"}</Table.Td>
                  <Table.Td className="nowrap">
                    <Ago at={token.created_at} /> by {token.created_by}
                  </Table.Td>
                  <Table.Td className="nowrap">{token.expires_at ? <Ago at={token.expires_at} /> : "never"}</Table.Td>
                  <Table.Td>
                    <ActionIcon variant="subtle" color="gray" aria-label={`Remove token ${token.name}`} onClick={() => setRemoving(token)}>
                      <Icon name="trash" size={16} />
                    </ActionIcon>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
      {making && <TokenForm self={self} onClose={() => setMaking(false)} />}
      {removing && (
        <Confirm
          title={`Remove token ${removing.name}?`}
          action="Remove"
          danger
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            try {
              await removeToken(removing.id);
              tellDone(`${removing.name} removed`);
            } catch (problem) {
              tellProblem(problem);
            }
            await queries.invalidateQueries({ queryKey: ["tokens"] });
          }}
        >
          Whoever uses it is locked out at once.
        </Confirm>
      )}
    </Stack>
  );
}

function TokenForm({ self, onClose }: { self: Self | undefined; onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("member");
  const [project, setProject] = useState(self?.project_id ?? "");
  const [life, setLife] = useState("2592000");
  const [error, setError] = useState<unknown>(null);
  const [made, setMade] = useState<MadeToken | null>(null);
  const projects = useQuery({ queryKey: ["projects"], queryFn: listProjects });
  const queries = useQueryClient();

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    setError(null);
    try {
      const body = { name, role, project_id: project || null, expires_in: life ? Number(life) : null };
      setMade(await makeToken(body));
      await queries.invalidateQueries({ queryKey: ["tokens"] });
    } catch (problem) {
      setError(problem);
    }
  }

  if (made) return <Secret made={made} onClose={onClose} />;
  return (
    <Modal opened onClose={onClose} title="New token" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void make(event)}>
        <Stack>
          <TextInput label="Name" description="Who or what will use it" required value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus data-autofocus />
          <Select label="Role" data={["viewer", "member", "admin"]} value={role} onChange={(value) => setRole(value ?? "member")} allowDeselect={false} />
          <Select
            label="Project"
            data={[...(self?.project_id ? [] : [{ value: "", label: "all projects" }]), ...(projects.data ?? []).map((each) => ({ value: each.id, label: each.id }))]}
            value={project}
            onChange={(value) => setProject(value ?? "")}
            allowDeselect={false}
          />
          <Select label="Holds" data={LIVES} value={life} onChange={(value) => setLife(value ?? "")} allowDeselect={false} />
          {error !== null && <Problem error={error} title="Not made" />}
          <Group justify="flex-end">
            <Button type="submit" disabled={!name}>
              Make
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Secret({ made, onClose }: { made: MadeToken; onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title={`Token ${made.name}`} closeOnClickOutside={false} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Alert color="yellow">Shown this one time. Keep it where only its user reads it.</Alert>
        <Code block className="wrap-anywhere secret">
          {made.token}
        </Code>
        <Group justify="flex-end">
          <CopyButton value={made.token}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? "Copied" : "Copy"}
              </Button>
            )}
          </CopyButton>
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
