// The URL is the state: path and query, changed by `go` and `turn`, watched by `useRoute`.
import { useEffect, useState } from "preact/hooks";
import { PAGES } from "./base";

export interface Route {
  path: string; // below the dashboard's own
  query: URLSearchParams;
  entry: string; // of the browser's history: the same when somebody comes back
}

const listeners = new Set<() => void>();
const scrolled = new Map<string, number>(); // how far, when an entry was left
let entry = "";
let before: string | undefined; // the path that the page was come to from, within the dashboard

export function here(): Route {
  const path = location.pathname.slice(PAGES.length).replace(/\/+$/, "") || "/";
  return { path, query: new URLSearchParams(location.search), entry };
}

export function href(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = new URLSearchParams(given).toString();
  return `${PAGES}${path}${text ? `?${text}` : ""}`;
}

/** Each entry of the history has a name, and the page itself goes back to where it was scrolled. */
export function begin(): void {
  history.scrollRestoration = "manual";
  enter();
  document.addEventListener("click", followLinks);
  addEventListener("popstate", () => {
    scrolled.set(entry, scrollY);
    enter();
    listeners.forEach((tell) => tell());
  });
}

interface Kept { entry?: string; before?: string }

function enter(): void {
  const kept = (history.state ?? {}) as Kept;
  before = kept.before;
  entry = kept.entry ?? newEntry();
  if (!kept.entry) history.replaceState({ entry }, "");
}

const newEntry = () => `${Date.now()}-${Math.random()}`;

export function go(to: string, replace = false): void {
  if (replace) history.replaceState({ entry, before }, "", to);
  else {
    scrolled.set(entry, scrollY);
    [entry, before] = [newEntry(), here().path];
    history.pushState({ entry, before }, "", to);
  }
  listeners.forEach((tell) => tell());
}

/** Back to the page at a path, as it was, where somebody has come from it; else there anew. */
export function backTo(path: string): void {
  if (before === path) history.back();
  else go(href(path));
}

/** How far this page was scrolled when it was left; undefined where it is new. */
export const scrolledTo = (): number | undefined => scrolled.get(entry);

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
    return () => void listeners.delete(look);
  }, []);
  return route;
}

/** Links stay in the page, unless a person asks for another tab. */
function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${PAGES}/`) && link.pathname !== PAGES) return;
  event.preventDefault();
  if (link.hash) document.getElementById(link.hash.slice(1))?.focus();
  else go(link.pathname + link.search);
}
