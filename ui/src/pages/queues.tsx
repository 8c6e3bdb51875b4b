// Queues: how deep, how fast, how bounded; pause and resume.
import { get, post } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad, type Loaded } from "../lib/load";
import { go, href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Lately } from "../lib/sights";
import type { Queue, QueueStats, Stats, TaskInfo, Workforce } from "../lib/types";
import { count, percent, quoted, seconds } from "../lib/words";
import { ask } from "../parts/ask";
import { Spark } from "../parts/chart";
import { Meter } from "../parts/meter";
import { colourOf, QueueName } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { tell } from "../parts/toast";
import { Charts, ERRORS, Spans } from "./charts";

type Queues = { queues: Queue[] };
const STATES = ["waiting", "delayed", "blocked", "active", "completed", "failed", "cancelled"];
const seen = new Set(["waiting", "active", "failed"]); // columns of nothing but noughts take room from the others; once there, they stay
const at = (name: string) => href(`/queues/${encodeURIComponent(name)}`);

export function Queues() {
  const queues = useLoad(() => get<Queues>("/queues"), [], 5_000);
  const stats = useLoad(() => get<Stats>("/stats"), [], 5_000);
  const lately = useLoad(() => get<Lately>("/stats/lately"), [], 30_000, false);
  return (
    <>
      <div class="head"><h1>Queues</h1></div>
      <QueueTable queues={queues} stats={stats.data} lately={lately.data} />
    </>
  );
}

export function QueueTable({ queues, stats, lately }: { queues: Loaded<Queues>; stats: Stats | undefined; lately: Lately | undefined }) {
  const who = useWho();
  const rows = queues.data?.queues ?? [];
  const cursor = useCursor(rows.length, (n) => go(at(rows[n]?.name ?? "")));
  const by = new Map(stats?.queues.map((q) => [q.queue, q]));
  rows.forEach((queue) => Object.entries(queue.counts).forEach(([state, n]) => n && seen.add(state)));
  const states = ["waiting", "active", "delayed", "blocked", "failed"].filter((state) => seen.has(state));
  return (
    <Shown of={queues}>
      {(data) => data.queues.length
        ? <Table label="Queues" rows={data.queues} cursor={cursor} keyOf={(q) => q.name} columns={columns(states, by, lately, who.may("operate"), queues.again)} />
        : <Empty title="No queues yet" text="They come with the first worker, or the first job." command="penstock worker --app module:app" />}
    </Shown>
  );
}

function columns(states: string[], by: Map<string, QueueStats>, lately: Lately | undefined, mayAct: boolean, done: () => void): Column<Queue>[] {
  return [
    { name: "Queue", narrow: true, show: (q) => <QueueName name={q.name} /> },
    { name: "Is", show: (q) => <Standing queue={q} /> },
    { name: "Last hour", show: (q) => <Spark values={lately?.completed[q.name] ?? []} colour={colourOf(q.name)} width={72} label={`${q.name}: completed in the last hour`} /> },
    { name: "a minute", num: true, title: "Completed in the last minute", show: (q) => count(Math.round(by.get(q.name)?.throughput_per_minute ?? 0)) },
    ...states.map((state): Column<Queue> => ({ name: state, num: true, show: (q) => <Counted queue={q} state={state} /> })),
    { name: "oldest", num: true, title: "For how long the one that waits longest has been due", show: (q) => seconds(by.get(q.name)?.oldest_waiting_s || null) },
    { name: "errors", num: true, title: "Of what ended in the last minute", show: (q) => <Errors share={by.get(q.name)?.error_rate ?? 0} /> },
    { name: "Limits", show: (q) => limitsOf(q) ? <span class="limits clip" title={limitsOf(q)}>{limitsOf(q)}</span> : <span class="muted">–</span> },
    { name: "", show: (q) => mayAct && <button type="button" class="small" onClick={() => askPause(q, done)}>{q.paused ? "Resume" : "Pause"}</button> },
  ];
}

function Standing({ queue }: { queue: Queue }) {
  if (queue.paused) return <span class="pill warn">paused</span>;
  if (!queue.declared) return <span class="pill" title="No app here declares it">undeclared</span>;
  return queue.workers ? <span class="muted">open</span> : <span class="pill" title="No live worker takes jobs from it">no worker</span>;
}

/** `over`: the service holds it for too many, however few. */
export const Errors = ({ share, over = false }: { share: number; over?: boolean }) => over || share > ERRORS ? <span class="state failed">✕ {percent(share)}</span> : <span class={share ? "" : "muted"}>{percent(share)}</span>;

function limitsOf(queue: Queue): string {
  const rate = queue.rate && `${queue.rate}${queue.rate_key ? ` for each ${queue.rate_key}` : ""}`;
  const all = queue.max_active === null ? "" : `${count(queue.max_active)} at once`;
  const each = queue.concurrency === null ? "" : `${count(queue.concurrency)} in a worker`;
  return [rate, all, each].filter(Boolean).join(", ");
}

function Counted({ queue, state }: { queue: Queue; state: string }) {
  const n = queue.counts[state] ?? 0;
  if (!n) return <span class="muted">0</span>;
  return <a href={href("/jobs", { q: `state:${state} queue:${queue.name}` })}>{count(n)}</a>;
}

export function QueueDetail({ name }: { name: string }) {
  const who = useWho();
  const queues = useLoad(() => get<Queues>("/queues"), [], 5_000);
  const stats = useLoad(() => get<Stats>("/stats"), [], 5_000);
  return (
    <Shown of={queues}>
      {(data) => {
        const queue = data.queues.find((q) => q.name === name);
        if (!queue) return <Empty title={`There is no queue ${name}`} text="Queues come with the first worker that serves them, or the first job." command="penstock queues" />;
        return (
          <>
            <div class="head">
              <h1 class="grow"><span class="dot" aria-hidden="true" style={{ color: `var(${colourOf(name)})` }} /> {name}</h1>
              <Standing queue={queue} />
              {who.may("operate") && <button type="button" onClick={() => askPause(queue, queues.again)}>{queue.paused ? "Resume" : "Pause"}</button>}
            </div>
            <div class="counts">
              {STATES.map((state) => <div key={state}><State of={state} /><strong><Counted queue={queue} state={state} /></strong></div>)}
            </div>
            <Bounds queue={queue} stats={stats.data?.queues.find((q) => q.queue === name)} />
            <div class="head"><h2 class="grow">How it does</h2><Spans /></div>
            <Charts queue={name} />
            <Serving queue={name} />
          </>
        );
      }}
    </Shown>
  );
}

function Bounds({ queue, stats }: { queue: Queue; stats: QueueStats | undefined }) {
  const active = queue.counts.active ?? 0;
  const ended = stats ? stats.throughput_per_minute + stats.retries + stats.dead_letters : 0;
  return (
    <section class="card"><dl class="facts">
      <dt>Oldest that waits</dt><dd>{seconds(stats?.oldest_waiting_s || null)}</dd>
      <dt>At once, over all workers</dt><dd>{queue.max_active === null ? `no bound; ${count(active)} run` : <Meter used={active} of={queue.max_active} label="Running, of those that may" />}</dd>
      <dt>At once, in each worker</dt><dd>{queue.concurrency === null ? "as many as it has slots" : count(queue.concurrency)}</dd>
      <dt>Rate</dt><dd>{queue.rate ? `${queue.rate}${queue.rate_key ? ` for each ${queue.rate_key}` : ""}, over all workers; ${(ended / 60).toFixed(1)}/s ended in the last minute` : "no bound"}</dd>
      <dt>Workers that serve it</dt><dd>{queue.workers ? <a href={href("/workers")}>{count(queue.workers)}</a> : "none"}</dd>
      {queue.parked > 0 && <><dt>Set aside</dt><dd>{count(queue.parked)}, until a worker comes that knows their task</dd></>}
    </dl></section>
  );
}

function Serving({ queue }: { queue: string }) {
  const workers = useLoad(() => get<Workforce>("/workers"), [], 5_000, false);
  const tasks = useLoad(() => get<{ tasks: TaskInfo[] }>("/tasks"), [], 60_000, false);
  const serving = (workers.data?.workers ?? []).filter((w) => w.queues.includes(queue));
  const mine = (tasks.data?.tasks ?? []).filter((t) => t.queue === queue);
  return (
    <div class="pair">
      <section class="stack tight"><h2>Its tasks</h2>
        {mine.length ? <Table label="Its tasks" rows={mine} keyOf={(t) => t.name} columns={[
          { name: "Task", show: (t) => <a href={href(`/tasks/${encodeURIComponent(t.name)}`)}>{t.name}</a> },
          { name: "Priority", show: (t) => t.priority },
          { name: "Limit", show: (t) => t.limit ?? <span class="muted">–</span> },
          { name: "Needs", show: (t) => t.needs ?? <span class="muted">–</span> },
        ]} /> : <Empty title="No task here is declared for it" />}
      </section>
      <section class="stack tight"><h2>Its workers</h2>
        {serving.length ? <Table label="Its workers" rows={serving} keyOf={(w) => w.id} columns={[
          { name: "Worker", show: (w) => <a href={href("/workers", { open: w.id })}>{w.name}</a> },
          { name: "Busy", num: true, show: (w) => `${w.active} of ${w.slots}` },
        ]} /> : <Empty title="No worker serves it" text="Its jobs wait until one does." command={`penstock worker --queue ${quoted(queue)}`} />}
      </section>
    </div>
  );
}

export function askPause(queue: Queue, done: () => void): void {
  const verb = queue.paused ? "resume" : "pause";
  ask({
    title: queue.paused ? `Let workers claim from ${queue.name} again?` : `Stop every worker from claiming from ${queue.name}?`,
    body: <p>{queue.paused ? `${count(queue.counts.waiting ?? 0)} jobs wait.` : "What runs goes on; what waits, waits."}</p>,
    action: queue.paused ? "Resume" : "Pause",
    command: `penstock ${verb} ${quoted(queue.name)}`,
    act: async (reason) => {
      await post(`/queues/${encodeURIComponent(queue.name)}/${verb}`, { reason: reason || null });
      tell(`${queue.name} is ${queue.paused ? "open again" : "paused"}`);
      done();
    },
  });
}
