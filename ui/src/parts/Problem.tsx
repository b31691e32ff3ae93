/** What went wrong, told so that a person can act on it and report it. */
import { Alert, Button, Code, Group, List, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Link } from "@tanstack/react-router";

import { ApiError } from "../api/client";

/** Give the words for any error. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return "Something went wrong.";
}

function requestId(error: unknown): string {
  return error instanceof ApiError ? error.requestId : "";
}

interface ProblemProps {
  error: unknown;
  title?: string;
  onRetry?: () => void;
}

/** An error where the content would be. */
export function Problem({ error, title = "That did not work", onRetry }: ProblemProps) {
  const mistakes = error instanceof ApiError ? error.mistakes.slice(0, 20) : [];
  return (
    <Alert color="red" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{wordsOf(error)}</Text>
        {mistakes.length > 1 && (
          <List size="sm">
            {mistakes.map((each, index) => (
              <List.Item key={index}>
                {each.line ? `line ${each.line}: ` : ""}
                {each.message}
              </List.Item>
            ))}
          </List>
        )}
        {requestId(error) && (
          <Text size="xs">
            Request <Code>{requestId(error)}</Code>
          </Text>
        )}
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Tell of an error in the corner: for actions. */
export function tellProblem(error: unknown, title = "That did not work"): void {
  const id = requestId(error);
  notifications.show({
    color: "red",
    title,
    message: wordsOf(error) + (id ? ` (request ${id})` : ""),
    autoClose: 10_000,
  });
}

/** Tell of a success in the corner. */
export function tellDone(message: string): void {
  notifications.show({ message, color: "helm", autoClose: 4000 });
}

/** A page that broke down. */
export function PageFailed({ error, reset }: { error: unknown; reset?: () => void }) {
  return <Problem error={error} title="This page broke down" onRetry={reset} />;
}

/** An address without a page. */
export function NotFound() {
  return (
    <Stack align="flex-start" py="xl">
      <Title order={1} size="h3">
        There is no page here
      </Title>
      <Text>The address may be mistyped, or what it showed is gone.</Text>
      <Group>
        <Button component={Link} to="/">
          To the dashboard
        </Button>
      </Group>
    </Stack>
  );
}
