// The catalogue, and a form to enqueue from it.
import { useState } from "preact/hooks";
import { ApiError, get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { go, href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Schema, TaskInfo } from "../lib/types";
import { seconds } from "../lib/words";
import { Json } from "../parts/data";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { complain } from "../parts/toast";

export function Tasks() {
  const tasks = useLoad(() => get<{ tasks: TaskInfo[] }>("/tasks"), []);
  return (
    <>
      <div class="head"><h1>Tasks</h1></div>
      <Shown of={tasks}>
        {(data) => data.tasks.length
          ? <Table label="Tasks" rows={data.tasks} keyOf={(t) => t.name} columns={COLUMNS} />
          : <Empty title="No tasks" text="Declare one with @app.task." />}
      </Shown>
    </>
  );
}

const COLUMNS: Column<TaskInfo>[] = [
  { name: "Task", show: (t) => <a href={href(`/tasks/${encodeURIComponent(t.name)}`)}>{t.name}</a> },
  { name: "Queue", show: (t) => t.queue },
  { name: "Priority", show: (t) => t.priority },
  { name: "Timeout", num: true, show: (t) => seconds(t.timeout) },
  { name: "Retry", show: (t) => <span class="muted">{t.retry}</span> },
  { name: "Needs", show: (t) => t.needs ?? <span class="muted">–</span> },
  { name: "On", show: (t) => t.on ?? <span class="muted">–</span> },
  { name: "Is", show: (t) => t.enabled ? <span class="muted">enabled</span> : <span class="pill warn">disabled</span> },
  { name: "What it does", show: (t) => <span class="muted">{t.description}</span> },
];

export function TaskDetail({ name }: { name: string }) {
  const who = useWho();
  const task = useLoad(() => get<TaskInfo>(`/tasks/${encodeURIComponent(name)}`), [name]);
  return (
    <Shown of={task}>
      {(data) => (
        <>
          <div class="head"><h1 class="grow">{data.name}</h1><a class="button" href={href("/jobs", { q: `task:${data.name}` })}>Its jobs</a></div>
          {data.description && <p>{data.description}</p>}
          {who.may("enqueue") && <Enqueue task={data} />}
          <section class="card stack tight"><h2>Arguments it takes</h2><Json of={data.payload} /></section>
        </>
      )}
    </Shown>
  );
}

function Enqueue({ task }: { task: TaskInfo }) {
  const [wrong, set] = useState<Record<string, string>>({});
  const fields = Object.entries(task.payload.properties ?? {});
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    try {
      const payload = Object.fromEntries(fields.map(([name, schema]) => [name, value(given.get(name), schema)]).filter(([, v]) => v !== undefined));
      const made = await post<{ job_id: string }>(`/jobs/${encodeURIComponent(task.queue)}`, { task: task.name, payload });
      go(href(`/jobs/${made.job_id}`));
    } catch (error) {
      if (error instanceof ApiError && error.fields.length) set(Object.fromEntries(error.fields.map((f) => [f.field.replace(/^payload\./, ""), f.problem])));
      else complain(error);
    }
  };
  return (
    <form class="card stack" onSubmit={submit}>
      <h2>Enqueue one</h2>
      {fields.map(([name, schema]) => (
        <label key={name} class="field">
          {name}{task.payload.required?.includes(name) ? "" : " (may be left out)"}
          <input name={name} type={kind(schema) === "integer" || kind(schema) === "number" ? "number" : "text"} step="any" aria-invalid={name in wrong}
            placeholder={schema.default === undefined ? kind(schema) : `${kind(schema)}, by default ${JSON.stringify(schema.default)}`} />
          {wrong[name] && <span role="alert">{wrong[name]}</span>}
        </label>
      ))}
      {!fields.length && <p class="muted">It takes no arguments.</p>}
      <div><button type="submit" class="primary">Enqueue</button></div>
    </form>
  );
}

const kind = (schema: Schema): string => schema.type ?? schema.anyOf?.map(kind).join(" or ") ?? "JSON";

function value(text: FormDataEntryValue | null, schema: Schema): unknown {
  if (text === null || text === "") return undefined;
  if (kind(schema) === "string") return text;
  try {
    return JSON.parse(String(text));
  } catch {
    return text;
  }
}
