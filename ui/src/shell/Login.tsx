/** The way in: a token, tried out before it is kept. */
import { Anchor, Button, Center, Checkbox, Code, Divider, Group, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { loginMethods, whoami } from "../api/admin";
import { ApiError } from "../api/client";
import { signIn } from "../api/session";
import { Problem } from "../parts/Problem";

/** Ask for a token. */
export function Login() {
  const [value, setValue] = useState("");
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { data: methods } = useQuery({ queryKey: ["methods"], queryFn: loginMethods });

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await whoami(value.trim());
      signIn(value.trim(), remember);
    } catch (problem) {
      setError(told(problem));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Center component="main" mih="100%" p="md">
      <Paper withBorder p="xl" w={420} maw="100%">
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            <Group gap="sm">
              <img src="/icon.svg" width={32} height={32} alt="" />
              <Title order={1} size="h3">
                Tiphys
              </Title>
            </Group>
            {methods?.oidc && (
              <>
                <Button component="a" href={`${methods.oidc.url}?next=${encodeURIComponent(location.pathname + location.search)}`}>
                  Sign in with {hostOf(methods.oidc.issuer)}
                </Button>
                <Divider label="or with a token" />
              </>
            )}
            <PasswordInput
              label="Token"
              description="Printed by the server when it first starts, or made under Settings."
              value={value}
              onChange={(event) => setValue(event.currentTarget.value)}
              autoComplete="current-password"
              visibilityToggleButtonProps={{ "aria-label": "Show the token" }}
              required
              autoFocus
            />
            <Checkbox
              label="Stay signed in on this computer"
              checked={remember}
              onChange={(event) => setRemember(event.currentTarget.checked)}
            />
            {error !== null && <Problem error={error} title="Not signed in" />}
            <Button type="submit" loading={busy} disabled={!value.trim()}>
              Sign in
            </Button>
            <Text size="xs" className="quiet">
              On the server's machine: <Code>cat $TIPHYS_DATA_DIR/admin-token</Code>; on Kubernetes:
              the secret <Code>tiphys-admin</Code>.{" "}
              <Anchor href="/docs" size="xs" underline="always">
                The API
              </Anchor>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

function told(problem: unknown): unknown {
  if (problem instanceof ApiError && problem.status === 401) {
    return new ApiError(401, problem.code, "This token does not hold: mistyped, expired or removed.", problem.requestId);
  }
  return problem;
}

function hostOf(issuer: string): string {
  try {
    return new URL(issuer).host;
  } catch {
    return issuer;
  }
}
