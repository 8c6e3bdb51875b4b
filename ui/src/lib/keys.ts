// Keys: / searches, g and a letter goes to a page, j k x o and Enter move in lists, ? tells.
import { useEffect, useLayoutEffect } from "preact/hooks";
import { go, href } from "./route";

const PLACES: Record<string, string> = {
  o: "/", j: "/jobs", d: "/dead-letters", q: "/queues", s: "/schedules", w: "/workers", l: "/limits", a: "/alerts", t: "/tasks", u: "/audit", h: "/health",
};
type Move = (key: string) => void;
let list: Move | undefined;

/** The list on the page moves by keys while it is there. */
export function useListKeys(move: Move): void {
  useLayoutEffect(() => {
    list = move;
    return () => void (list = undefined);
  });
}

export function useKeys(): void {
  useEffect(() => {
    let going = false;
    const press = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (at.matches("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open]")) {
        if (event.key === "Escape" && at.matches("input")) at.blur();
        return;
      }
      if (going && PLACES[event.key]) go(href(PLACES[event.key] as string));
      else if (event.key === "/") (event.preventDefault(), document.getElementById("search")?.focus());
      else if (event.key === "?") go(href("/help"));
      else if ("jkox".includes(event.key)) list?.(event.key);
      else if (event.key === "Enter" && !at.closest("a, button, summary")) list?.("o");
      going = event.key === "g";
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
