/** The audit: who changed what, when. */
import { Button, Group, Loader, Paper, Stack, Table, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";

import { listAudit, type AuditEntry } from "../api/admin";
import { Empty } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { At } from "../parts/Time";

const PAGE = 500;
/** More rows than these would slow the page down; the search finds the others. */
const SHOWN = 2000;

/** The tab; the newest comes first. */
export function AuditTab() {
  const [wanted, setWanted] = useState("");
  const { data, error, hasNextPage, fetchNextPage, isFetching, refetch } = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) => listAudit(pageParam, PAGE),
    initialPageParam: Number.MAX_SAFE_INTEGER,
    getNextPageParam: (last: AuditEntry[]) => (last.length === PAGE ? last.at(-1)!.number : undefined),
  });
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loader size="sm" />;
  const text = wanted.toLowerCase();
  const entries = data.pages.flat().filter((each) => `${each.actor} ${each.action} ${each.project} ${each.object}`.toLowerCase().includes(text));
  return (
    <Stack>
      <Group>
        <TextInput data-search w={260} aria-label="Search the audit" placeholder="Who, what, where" value={wanted} onChange={(event) => setWanted(event.currentTarget.value)} />
        <Text size="sm" className="quiet">
          {entries.length.toLocaleString("en")}{hasNextPage ? "+" : ""} changes
        </Text>
        {hasNextPage && (
          <Button size="xs" variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
            Earlier ones
          </Button>
        )}
      </Group>
      {entries.length === 0 ? (
        <Empty title="Nothing matches" />
      ) : (
        <Paper withBorder className="scroll-x" tabIndex={0} role="group" aria-label="Audit">
          <Table miw={{ base: 0, xs: 640 }} verticalSpacing={4} className="stacked">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Who</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>Project</Table.Th>
                <Table.Th>Object</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {entries.slice(0, SHOWN).map((entry) => (
                <Table.Tr key={entry.number}>
                  <Table.Td className="nowrap">
                    <At at={entry.at} />
                  </Table.Td>
                  <Table.Td className="wrap-anywhere">{entry.actor}</Table.Td>
                  <Table.Td>{entry.action}</Table.Td>
                  <Table.Td>{entry.project || "–"}</Table.Td>
                  <Table.Td className="wrap-anywhere">{entry.object}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
    </Stack>
  );
}
