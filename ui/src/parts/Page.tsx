/** The frame of a page: title, actions, and what stands there when there is nothing to show. */
import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";

interface PageProps {
  title: string;
  /** Beside the title, to the right. */
  actions?: ReactNode;
  /** Below the title. */
  about?: ReactNode;
  children: ReactNode;
}

/** A page with its one heading; the tab is named after it. */
export function Page({ title, actions, about, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tiphys`;
  }, [title]);
  return (
    <Stack gap="md" className="page">
      <Group justify="space-between" gap="sm" align="center">
        <Stack gap={2} miw={0}>
          <Title order={1} size="h3" className="cut">
            {title}
          </Title>
          {about}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

interface EmptyProps {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** Nothing is there, and what to do about it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <Paper withBorder p="xl" className="empty">
      <Stack align="center" gap="sm">
        <Text fw={600}>{title}</Text>
        {children && (
          <Text size="sm" ta="center" maw={520} component="div">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  );
}

interface CardProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A part of a page with a heading of its own. */
export function Card({ title, actions, children }: CardProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Paper>
  );
}
