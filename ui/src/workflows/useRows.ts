/** Rows of the list: the pages that are in view, asked for when scrolling comes to rest. */
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries } from "@tanstack/react-query";

import { listWorkflows, type Filters, type Summary } from "../api/workflows";

export const PAGE_SIZE = 100;
const FRESH = 3000;
const SETTLED = 80;

interface Rows {
  /** Not known while only pages are on their way that were not asked for before. */
  total: number | undefined;
  /** Whether there may be more: a long list is still being counted. */
  atLeast: boolean;
  row: (index: number) => Summary | undefined;
  error: unknown;
  loading: boolean;
  refresh: () => void;
}

/** Give the rows of these pages. */
export function useRows(filters: Filters, wanted: number[]): Rows {
  const [settled] = useDebouncedValue(wanted.join(","), SETTLED);
  const pages = (settled || "1").split(",").map(Number);
  const answers = useQueries({
    queries: pages.map((page) => ({
      queryKey: ["workflows", filters, page],
      queryFn: ({ signal }: { signal: AbortSignal }) => listWorkflows(filters, page, PAGE_SIZE, signal),
      refetchInterval: FRESH,
      placeholderData: pages.length === 1 && page === 1 ? keepPreviousData : undefined,
    })),
  });
  const byPage = new Map(pages.map((page, index) => [page, answers[index]?.data]));
  const known = answers.find((each) => each.data)?.data;
  return {
    total: known?.total,
    atLeast: known?.atLeast ?? false,
    row: (index) => byPage.get(Math.floor(index / PAGE_SIZE) + 1)?.items[index % PAGE_SIZE],
    error: answers.find((each) => each.error && !each.data)?.error ?? null,
    loading: answers.some((each) => each.isPending),
    refresh: () => answers.forEach((each) => void each.refetch()),
  };
}
