// People by their names and roles, and which pages are for whom.
import type { Who } from "./session";

/** A token by its name: "token:ana:0123…" is ana. */
export const named = (who: string): string => /^token:(.+):[0-9a-f]{16}$/.exec(who)?.[1] ?? who;

/** Whether the work of every owner is theirs to see. */
export const seesAll = (who: Pick<Who, "owner" | "scopes">): boolean => who.scopes.includes("admin") || who.owner === "*";

export function roleOf(who: Pick<Who, "owner" | "scopes">): string {
  const role = who.scopes.includes("admin") ? "administrator" : who.scopes.includes("operate") ? "operator" : "reader";
  return seesAll(who) ? role : `${role}, jobs of ${who.owner}`;
}

export interface Place { at: string; name: string; brief: string; glyph: string; for: "anybody" | "all owners" | "administrators" }

export const PLACES: Place[] = [
  { at: "/", name: "Overview", brief: "Overview", glyph: "◫", for: "all owners" },
  { at: "/jobs", name: "Jobs", brief: "Jobs", glyph: "≡", for: "anybody" },
  { at: "/dead-letters", name: "Dead letters", brief: "Dead", glyph: "✕", for: "anybody" },
  { at: "/queues", name: "Queues", brief: "Queues", glyph: "⇶", for: "all owners" },
  { at: "/schedules", name: "Schedules", brief: "Schedules", glyph: "◷", for: "all owners" },
  { at: "/workers", name: "Workers", brief: "Workers", glyph: "▦", for: "all owners" },
  { at: "/limits", name: "Limits & breakers", brief: "Limits", glyph: "⊝", for: "all owners" },
  { at: "/alerts", name: "Alerts", brief: "Alerts", glyph: "△", for: "all owners" },
  { at: "/tasks", name: "Tasks", brief: "Tasks", glyph: "ƒ", for: "anybody" },
  { at: "/audit", name: "Audit", brief: "Audit", glyph: "¶", for: "administrators" },
  { at: "/health", name: "Health", brief: "Health", glyph: "♡", for: "all owners" },
];

export const isAt = (path: string, place: string): boolean => (place === "/" ? path === "/" : path === place || path.startsWith(`${place}/`));

export const placesFor = (who: Pick<Who, "owner" | "scopes">): Place[] =>
  PLACES.filter((place) => place.for === "anybody" || (place.for === "administrators" ? who.scopes.includes("admin") : seesAll(who)));

/** Where this page is about the work of all owners, and they see that of one. */
export const isBeyond = (path: string, who: Pick<Who, "owner" | "scopes">): boolean =>
  !seesAll(who) && PLACES.some((place) => place.for === "all owners" && isAt(path, place.at));
