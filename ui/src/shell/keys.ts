/**
 * The keyboard. Keys count only where nobody is typing; a page adds its own with `useKeys`.
 */
import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

/** Tell whether keys belong to the thing that has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("[role=dialog], [role=listbox], [role=menu], .cm-editor")) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Write a key as `useKeys` names it: `mod+k`, `?`, `g d`. */
export function nameOf(event: KeyboardEvent, before: string): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  if (event.altKey) return "";
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return before && !mod ? `${before} ${key}` : mod + key;
}

/** Do something on keys, as long as the component is there. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let before = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    function onKey(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing) return;
      const name = nameOf(event, before);
      const found = latest.current[name];
      clearTimeout(timer);
      before = "";
      if (found && (name.startsWith("mod+") || !isTyping(event.target))) {
        event.preventDefault();
        found(event);
      } else if (name === "g" && !isTyping(event.target)) {
        before = "g";
        timer = setTimeout(() => (before = ""), 1200);
      }
    }
    window.addEventListener("keydown", onKey);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("keydown", onKey);
    };
  }, []);
}
