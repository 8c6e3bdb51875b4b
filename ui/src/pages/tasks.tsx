// The catalogue.
import { get } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad } from "../lib/load";
import { go, href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Stats, TaskInfo, TaskStats } from "../lib/types";
import { seesAll } from "../lib/who";
import { briefly, count, percent, seconds } from "../lib/words";
import { Json } from "../parts/data";
import { Missing } from "../parts/missing";
import { QueueName } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Enqueue } from "./enqueue";

const at = (name: string) => href(`/tasks/${encodeURIComponent(name)}`);

export function Tasks() {
  const word = (useRoute().query.get("find") ?? "").toLowerCase();
  const tasks = useLoad(() => get<{ tasks: TaskInfo[] }>("/tasks"), [], 60_000, false);
  const stats = useStats();
  const rows = (tasks.data?.tasks ?? []).filter((t) => `${t.name} ${t.queue} ${t.description ?? ""}`.toLowerCase().includes(word));
  const cursor = useCursor(rows.length, (n) => go(at(rows[n]?.name ?? "")));
  return (
    <>
      <div class="head">
        <h1 class="grow">Tasks</h1>
        <label class="sr" for="find">Find a task</label>
        <input id="find" placeholder="Find a task" value={word} onInput={(event) => turn({ find: event.currentTarget.value || undefined }, true)} />
      </div>
      <Shown of={tasks}>
        {(data) => !data.tasks.length
          ? <Empty title="No tasks" text="Declare one with @app.task; what is not declared can be neither enqueued nor run." command="penstock tasks" />
          : rows.length
            ? <Table label="Tasks" rows={rows} cursor={cursor} keyOf={(t) => t.name} columns={columns(stats)} />
            : <Empty title="No task fits" />}
      </Shown>
    </>
  );
}

function useStats(): (task: TaskInfo) => TaskStats | undefined {
  const all = seesAll(useWho());
  const stats = useLoad(() => (all ? get<Stats>("/stats") : Promise.resolve(undefined)), [all], 10_000, false);
  return (task) => stats.data?.tasks.find((t) => t.task === task.name && t.queue === task.queue);
}

function columns(stats: (task: TaskInfo) => TaskStats | undefined): Column<TaskInfo>[] {
  return [
    { name: "Task", show: (t) => <span class="line"><a href={at(t.name)} title={t.description ?? undefined}>{t.name}</a>{!t.enabled && <span class="pill warn">disabled</span>}</span> },
    { name: "Queue", show: (t) => <QueueName name={t.queue} /> },
    { name: "a minute", num: true, title: "Completed in the last minute", show: (t) => count(Math.round(stats(t)?.throughput_per_minute ?? 0)) },
    { name: "p95", num: true, title: "Run time, in the last minute", show: (t) => (stats(t)?.p95_processing_time_ms ? briefly(stats(t)?.p95_processing_time_ms ?? 0) : <span class="muted">–</span>) },
    { name: "errors", num: true, show: (t) => (stats(t)?.error_rate ? percent(stats(t)?.error_rate) : <span class="muted">–</span>) },
    { name: "Priority", show: (t) => t.priority },
    { name: "Timeout", num: true, show: (t) => seconds(t.timeout) },
    { name: "Retry", show: (t) => <span class="muted limits clip" title={t.retry}>{t.retry}</span> },
    { name: "Needs", show: (t) => t.needs ?? <span class="muted">–</span> },
    { name: "On", show: (t) => t.on ?? <span class="muted">–</span> },
  ];
}

function NoTask({ name }: { name: string }) {
  const maybe = ["The app that this service was started with does not declare it, or not any more.", "It has another name: a task is called as its function, unless name= says otherwise."];
  return (
    <Missing what="task" id={name} maybe={maybe} command="penstock tasks">
      <a class="button" href={href("/tasks")}>All tasks</a>
      <a class="button" href={href("/jobs", { q: `task:${name}` })}>Jobs of that name</a>
    </Missing>
  );
}

export function TaskDetail({ name }: { name: string }) {
  const who = useWho();
  const task = useLoad(() => get<TaskInfo>(`/tasks/${encodeURIComponent(name)}`), [name], 60_000, false);
  return (
    <Shown of={task} missing={() => <NoTask name={name} />}>
      {(data) => (
        <>
          <div class="head">
            <h1 class="grow">{data.name}</h1>
            {!data.enabled && <span class="pill warn">disabled</span>}
            <a class="button" href={href("/jobs", { q: `task:${data.name}` })}>Its jobs</a>
          </div>
          {data.description && <p>{data.description}</p>}
          <div class="pair">
            {who.may("enqueue") && <Enqueue task={data} />}
            <section class="card stack tight">
              <h2>How it runs</h2>
              <dl class="facts">
                <dt>Queue</dt><dd><QueueName name={data.queue} /></dd>
                <dt>Priority</dt><dd>{data.priority}</dd>
                <dt>Timeout</dt><dd>{seconds(data.timeout)}</dd>
                <dt>Retry</dt><dd>{data.retry}</dd>
                <dt>Limit</dt><dd>{data.limit ?? "none"}</dd>
                <dt>Needs</dt><dd>{data.needs ?? "nothing"}</dd>
                {data.schedules && <><dt>Schedules</dt><dd>{data.schedules.join("; ") || "none"}</dd></>}
                <dt>On event</dt><dd>{data.on ?? "–"}</dd>
                <dt>Runs as</dt><dd>{data.execute}</dd>
                <dt>Key</dt><dd>{data.key ? <><code>{data.key}</code> {data.unique}</> : "of the caller, or its id"}</dd>
                <dt>Secret</dt><dd>{data.secret.join(", ") || "nothing"}</dd>
                <dt>Searchable</dt><dd>{data.searchable.map((arg) => `args.${arg}`).join(", ") || "nothing"}</dd>
              </dl>
            </section>
          </div>
          <details class="card"><summary>The JSON schema of its arguments</summary><Json of={data.payload} /></details>
        </>
      )}
    </Shown>
  );
}
