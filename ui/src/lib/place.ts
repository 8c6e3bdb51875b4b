// Where somebody was on a page, and what it had, for when they come back to it.
import { useLayoutEffect, useState } from "preact/hooks";
import { here } from "./route";

const MOST = 12; // places, the latest
const kept = new Map<string, Map<string, unknown>>();

export function recalled<T>(entry: string, name: string): T | undefined {
  return kept.get(entry)?.get(name) as T | undefined;
}

export function remember(entry: string, name: string, value: unknown): void {
  const place = kept.get(entry) ?? new Map<string, unknown>();
  kept.delete(entry);
  kept.set(entry, place.set(name, value));
  for (const oldest of kept.keys()) if (kept.size > MOST) kept.delete(oldest);
}

/** State that is there again when somebody comes back; for a component that is keyed by its place. */
export function usePlaced<T>(name: string, first: T): [T, (next: T | ((before: T) => T)) => void] {
  const [entry] = useState(() => here().entry);
  const [value, set] = useState<T>(() => recalled<T>(entry, name) ?? first);
  useLayoutEffect(() => remember(entry, name, value), [value]);
  return [value, set];
}
