/** What of a page stands in its address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

export type Search = Record<string, string | undefined>;

/** Give the parameters of the address, and what changes some of them. */
export function useAddress(): [Search, (change: Search, how?: { replace?: boolean }) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (given: Search, { replace = true } = {}) =>
      void navigate({
        to: ".",
        search: (before: Search) => without({ ...before, ...given }),
        replace,
      }),
    [navigate],
  );
  return [search, change];
}

function without(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value));
}
