/** Progress of several workflows at once, each through a stream of its own. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { watchWorkflow } from "../api/live";
import { hasEnded, type Summary } from "../api/workflows";

/** So many streams are opened; more would be hard to read anyway. */
export const MOST_WATCHED = 6;

/** Give the rows with what the streams have told since. */
export function useWatched(rows: readonly Summary[]): Summary[] {
  const queries = useQueryClient();
  const [news, setNews] = useState<ReadonlyMap<string, Partial<Summary>>>(new Map());
  const ids = rows.slice(0, MOST_WATCHED).map((row) => row.id);
  useEffect(() => {
    const stops = ids.map((id) =>
      watchWorkflow(id, {
        onUpdate: ({ status, progress }) => {
          setNews((before) => new Map(before).set(id, { status, progress }));
          if (hasEnded(status)) {
            void queries.invalidateQueries({ queryKey: ["workflows"] });
            void queries.invalidateQueries({ queryKey: ["overview"] });
          }
        },
      }),
    );
    return () => stops.forEach((stop) => stop());
  }, [ids.join()]);
  return rows.map((row) => ({ ...row, ...news.get(row.id) }));
}
