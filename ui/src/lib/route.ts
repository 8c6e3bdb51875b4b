// The URL is the state: path and query, changed by `go` and `turn`, watched by `useRoute`.
import { useEffect, useState } from "preact/hooks";
import { PAGES } from "./base";

export interface Route {
  path: string; // below the dashboard's own
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

export function here(): Route {
  const path = location.pathname.slice(PAGES.length) || "/";
  return { path, query: new URLSearchParams(location.search) };
}

export function href(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = new URLSearchParams(given).toString();
  return `${PAGES}${path}${text ? `?${text}` : ""}`;
}

export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  listeners.forEach((tell) => tell());
}

/** Change some of the query; what is empty is left out. */
export function turn(changes: Record<string, string | undefined>, replace = false): void {
  const { path, query } = here();
  const next: Record<string, string | undefined> = Object.fromEntries(query);
  go(href(path, { ...next, ...changes }), replace);
}

export function useRoute(): Route {
  const [route, set] = useState(here);
  useEffect(() => {
    const look = () => set(here());
    listeners.add(look);
    addEventListener("popstate", look);
    return () => {
      listeners.delete(look);
      removeEventListener("popstate", look);
    };
  }, []);
  return route;
}

/** Links stay in the page, unless a person asks for another tab. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${PAGES}/`) && link.pathname !== PAGES) return;
  event.preventDefault();
  go(link.pathname + link.search);
  document.getElementById("main")?.focus({ preventScroll: true });
  scrollTo(0, 0);
}
