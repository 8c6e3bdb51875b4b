// Short words at the edge of the page: what an action did, or why it did not.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../lib/api";
import { href } from "../lib/route";

interface Said { id: number; text: ComponentChildren; bad: boolean }

let said: Said[] = [];
let latest = 0;
const watchers = new Set<() => void>();

function show(text: ComponentChildren, bad: boolean): void {
  const id = ++latest;
  said = [...said.slice(-3), { id, text, bad }];
  watchers.forEach((tell) => tell());
  setTimeout(() => {
    said = said.filter((s) => s.id !== id);
    watchers.forEach((tell) => tell());
  }, bad ? 10_000 : 5_000);
}

export const tell = (text: string) => show(text, false);

/** What was done made a job: the words lead to it. */
export const tellOfJob = (words: string, id: string) => show(<>{words} <a href={href(`/jobs/${encodeURIComponent(id)}`)}>{id}</a></>, false);

export const complain = (error: unknown) => show(inWords(error), true);

export function inWords(error: unknown): string {
  const fields = error instanceof ApiError ? error.fields.map((f) => `${f.field}: ${f.problem}`) : [];
  const message = error instanceof Error ? error.message : String(error);
  return [message, ...fields].join(" · ");
}

export function Toasts() {
  const [, again] = useState(0);
  useEffect(() => {
    const look = () => again((n) => n + 1);
    watchers.add(look);
    return () => void watchers.delete(look);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {said.map((s) => <div key={s.id} class={`toast ${s.bad ? "bad" : ""}`}>{s.text}</div>)}
    </div>
  );
}
