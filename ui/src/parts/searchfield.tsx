// The search field, with completions: qualifiers, states, and the names of queues, tasks and their arguments.
import { useState } from "preact/hooks";
import { get } from "../lib/api";
import { completions, type Names } from "../lib/search";
import type { TaskInfo } from "../lib/types";

let names: Promise<Names> | undefined; // asked for once, when somebody begins to type

function known(): Promise<Names> {
  names ??= get<{ tasks: (TaskInfo & { searchable: string[] })[] }>("/tasks").then(
    ({ tasks }) => ({ tasks: Object.fromEntries(tasks.map((task) => [task.name, task.searchable])), queues: [...new Set(tasks.map((task) => task.queue))] }),
    () => ((names = undefined), { tasks: {}, queues: [] }),
  );
  return names;
}

export function SearchField({ text }: { text: string }) {
  const [options, set] = useState<string[]>([]);
  const look = (typed: string) => void known().then((found) => set(completions(typed, found)));
  return (
    <>
      <input id="search" name="q" autoComplete="off" spellcheck={false} defaultValue={text} list="search-words" placeholder="Search: id, state:failed task:send_receipt  /"
        onFocus={(event) => look(event.currentTarget.value)} onInput={(event) => look(event.currentTarget.value)} />
      <datalist id="search-words">{options.map((option) => <option key={option} value={option} />)}</datalist>
    </>
  );
}
