/** What the dashboard shows, through one connection for all of it. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import type { LiveState } from "../api/live";
import { watchOverview, type Panorama } from "../api/overview";

/** Give what is known, also from the last visit, and how the connection is doing. */
export function usePanorama(hours: number): { seen: Panorama | undefined; state: LiveState } {
  const queries = useQueryClient();
  const [seen, setSeen] = useState(() => queries.getQueryData<Panorama>(["panorama", hours]));
  const [state, setState] = useState<LiveState>("connecting");
  useEffect(
    () =>
      watchOverview(
        hours,
        (told) => {
          queries.setQueryData(["panorama", hours], told);
          setSeen(told);
        },
        setState,
      ),
    [hours, queries],
  );
  return { seen, state };
}
