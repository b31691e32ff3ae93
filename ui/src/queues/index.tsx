/** Queues: the tree with what each may use, uses and borrows; one of them with who waits in it. */
import { Button, Group, Loader, Paper, Stack, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { getQueueStatus, listQueues, LOCAL, type Queue, type QueueStatus } from "../api/queues";
import { Icon } from "../parts/Icon";
import { Empty, Page } from "../parts/Page";
import { Problem } from "../parts/Problem";
import { useAddress } from "../parts/search";
import { StatusWord } from "../parts/Status";
import { useSelf } from "../shell/Account";
import { asTree, metersOf } from "./amounts";
import { Meters } from "./Meters";
import { QueueForm } from "./QueueForm";
import { QueuePanel } from "./QueuePanel";

/** The page. */
export function QueuesPage() {
  const [search, setSearch] = useAddress();
  const [making, setMaking] = useState(false);
  const { data: queues, error, refetch } = useQuery({ queryKey: ["queues"], queryFn: listQueues, refetchInterval: 5000 });
  const { data: self } = useSelf();
  const admin = self?.role === "admin" && self.project_id === null;
  const statuses = useStatuses(queues ?? []);
  const chosen = queues?.find((queue) => queue.id === search["queue"] || queue.name === search["queue"]);
  return (
    <Page
      title="Queues"
      actions={
        admin && (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
            New queue
          </Button>
        )
      }
    >
      {error && !queues && <Problem error={error} onRetry={() => void refetch()} />}
      {!queues && !error && <Loader size="sm" />}
      {queues?.length === 0 && <Empty title="No queues">Everything goes into the default queue.</Empty>}
      {queues && queues.length > 0 && (
        <div className={`split${chosen ? " split-open" : ""}`}>
          <Stack gap="xs" component="ul" className="plain-list">
            {asTree(queues).map(({ queue, depth }) => (
              <li key={queue.id} style={{ marginLeft: depth * 24 }}>
                <QueueRow
                  queue={queue}
                  status={statuses.get(queue.id)}
                  chosen={queue === chosen}
                  onChoose={() => setSearch({ queue: queue === chosen ? "" : queue.id })}
                />
              </li>
            ))}
          </Stack>
          {chosen && <QueuePanel key={chosen.id} queue={chosen} status={statuses.get(chosen.id)} admin={admin} onClose={() => setSearch({ queue: "" })} />}
        </div>
      )}
      {making && queues && <QueueForm queues={queues} onClose={() => setMaking(false)} />}
    </Page>
  );
}

/** Ask how full each queue is. */
function useStatuses(queues: readonly Queue[]): Map<string, QueueStatus> {
  const answers = useQueries({
    queries: queues.map((queue) => ({
      queryKey: ["queue", queue.id],
      queryFn: () => getQueueStatus(queue.id),
      refetchInterval: 2000,
    })),
  });
  return new Map(answers.flatMap(({ data }) => (data ? [[data.id, data] as const] : [])));
}

interface QueueRowProps {
  queue: Queue;
  status: QueueStatus | undefined;
  chosen: boolean;
  onChoose: () => void;
}

function QueueRow({ queue, status, chosen, onChoose }: QueueRowProps) {
  return (
    <Paper withBorder p="sm" className={`queue${chosen ? " queue-chosen" : ""}`}>
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <button type="button" className="queue-name" aria-expanded={chosen} onClick={onChoose}>
            {queue.name}
          </button>
          <StatusWord status={status?.status ?? queue.status} size={14} />
          <Text size="sm" className="quiet">
            {queue.scheduler === LOCAL ? "" : `${queue.scheduler} · `}weight {queue.priority}
          </Text>
        </Group>
        {status && (
          <Text size="sm" className="num">
            {status.stats.running} running · {Math.max(status.stats.waiting, status.waiting.length)} waiting
          </Text>
        )}
      </Group>
      {queue.description && (
        <Text size="sm" className="quiet">
          {queue.description}
        </Text>
      )}
      <Meters
        meters={metersOf({
          quota: queue.quota,
          guarantee: queue.guarantee,
          capability: queue.capability,
          allocated: status?.allocated ?? {},
        })}
      />
    </Paper>
  );
}
