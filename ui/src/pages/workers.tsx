// A row for each worker process: what it runs in which slot, how it beats, how big it is.
import { get, post } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { LostWorker, RunningJob, Worker, Workforce } from "../lib/types";
import { bytes, count, progressed, quoted, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Spark } from "../parts/chart";
import { QueueName, QueueNames } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell } from "../parts/toast";

const MOST_SQUARES = 40;
const LOOKS = 60; // of the memory of a worker, since the page was opened
const past = new Map<string, number[]>();

export function Workers() {
  const open = useRoute().query.get("open");
  const mayAct = useWho().may("operate");
  const workers = useLoad(() => get<Workforce>("/workers").then(remember), [], 2_000, false);
  const rows = workers.data?.workers ?? [];
  const show = (id: string | undefined) => turn({ open: id === open ? undefined : id }, true);
  const cursor = useCursor(rows.length, (n) => show(rows[n]?.id));
  return (
    <>
      <div class="head"><h1>Workers</h1></div>
      <Shown of={workers}>
        {(data) => data.workers.length
          ? <>
              <Table label="Workers" rows={data.workers} cursor={cursor} keyOf={(w) => w.id} columns={columns(open, show, mayAct, workers.again)} />
              <Running workers={data.workers.filter((w) => open === null || w.id === open)} one={open !== null} />
            </>
          : <Empty title="No worker is running" text="Jobs wait until one comes. Where your app is, type" command="penstock worker --app module:app" />}
      </Shown>
      {workers.data && workers.data.lost.length > 0 && <Lost workers={workers.data.lost} />}
    </>
  );
}

function remember(found: Workforce): Workforce {
  for (const { id, memory } of found.workers) if (memory !== null) past.set(id, [...(past.get(id) ?? []), memory].slice(-LOOKS));
  return found;
}

const STANDING: Record<string, [string, string]> = { quiet: ["warn", "quiet"], stop: ["warn", "stopping"] };

function Standing({ of }: { of: Worker }) {
  const [kind, word] = !of.alive ? ["bad", "down"] : STANDING[of.order ?? ""] ?? ["good", "running"];
  return <span class={`pill ${kind}`}>{word}</span>;
}

function columns(open: string | null, show: (id: string) => void, mayAct: boolean, done: () => void): Column<Worker>[] {
  return [
    { name: "Worker", show: (w) => <button type="button" class="link" aria-pressed={open === w.id} title={w.id} onClick={() => show(w.id)}>{w.name}</button> },
    { name: "Is", show: (w) => <Standing of={w} /> },
    { name: "Slots", show: (w) => <Slots worker={w} /> },
    { name: "Busy", num: true, show: (w) => `${w.active} of ${w.slots}` },
    { name: "Memory", show: (w) => <span class="line">{bytes(w.memory)}{(past.get(w.id) ?? []).length > 1 && <Spark values={past.get(w.id) ?? []} label={`${w.name}: memory since this page was opened`} width={48} />}</span> },
    { name: "Queues", show: (w) => <QueueNames of={w.queues} /> },
    { name: "Since", show: (w) => <Ago at={w.started_at} /> },
    { name: "Lease ends", title: "Each heartbeat puts it off", show: (w) => <Ago at={w.expires_at} /> },
    { name: "", show: (w) => mayAct && w.alive && w.order !== "stop" && (
      <>
        <button type="button" class="small" onClick={() => order(w, w.order ? "resume" : "quiet", done)}>{w.order ? "Resume" : "Quiet"}</button>
        <button type="button" class="small danger" onClick={() => order(w, "stop", done)}>Stop</button>
      </>
    ) },
  ];
}

const ORDERS = {
  quiet: { title: "Let it claim nothing more?", body: "What it runs goes on; what it claimed and has not begun is handed back. Others take what waits.", action: "Quiet", done: "claims nothing more" },
  resume: { title: "Let it claim again?", body: "It takes jobs as before.", action: "Resume", done: "claims again" },
  stop: { title: "Stop it?", body: "What it runs may finish within its grace period, the rest is handed back; then its process ends. Its supervisor starts no other in its place.", action: "Stop", done: "stops" },
};

function order(worker: Worker, what: keyof typeof ORDERS, done: () => void): void {
  const words = ORDERS[what];
  ask({
    title: `${worker.name}: ${words.title}`, body: <p>{words.body} It hears of it with its next heartbeat.</p>, action: words.action, danger: what === "stop",
    command: `penstock workers ${what} ${quoted(worker.id)}`,
    act: async (reason) => {
      await post(`/workers/${encodeURIComponent(worker.id)}/${what}`, { reason: reason || null });
      tell(`${worker.name} ${words.done}`);
      done();
    },
  });
}

// What was done with a job then: how it is now, its own page tells.
const DONE: Record<string, string> = {
  waiting: "put back", delayed: "put back, due later", blocked: "put back", failed: "dead-lettered", cancelled: "cancelled", completed: "had completed",
};

function Lost({ workers }: { workers: LostWorker[] }) {
  return (
    <>
      <h2>Lost in the last hour</h2>
      <Table label="Lost workers" rows={workers} keyOf={(w) => w.id} columns={[
        { name: "Worker", show: (w) => <span title={w.id}>{w.name ?? short(w.id)}</span> },
        { name: "When", show: (w) => <Ago at={w.at} /> },
        { name: "Why", wrap: true, show: (w) => w.why },
        { name: "Taken back", num: true, show: (w) => count(w.rescued) },
        { name: "Jobs", wrap: true, show: (w) => w.jobs.length ? w.jobs.map((job) => <div key={job.job_id}><a href={href(`/jobs/${job.job_id}`)}>{job.task}</a> <span class="muted">{DONE[job.state] ?? "taken back"}</span></div>) : <span class="muted">–</span> },
      ]} />
    </>
  );
}

/** Busy ones show their job, and lead to it. */
function Slots({ worker }: { worker: Worker }) {
  const shown = Math.min(worker.slots, MOST_SQUARES);
  const busy = Math.min(shown, Math.round((worker.active / Math.max(worker.slots, 1)) * shown) || Math.min(worker.active, 1));
  return (
    <span class="slots" style={{ gridTemplateColumns: `repeat(${Math.min(shown, 10)}, 10px)` }}>
      <span class="sr">{worker.active} of {worker.slots} slots are busy</span>
      {Array.from({ length: shown }, (_, n) => {
        const job = n < busy ? worker.running[n] : undefined;
        return job
          ? <a key={n} class="busy" href={href(`/jobs/${job.job_id}`)} title={`${job.task} ${job.job_id}`} aria-label={`${job.task} ${job.job_id}`} />
          : <i key={n} class={n < busy ? "busy" : ""} />;
      })}
    </span>
  );
}

interface Row extends RunningJob { worker: string }

function Running({ workers, one }: { workers: Worker[]; one: boolean }) {
  const rows: Row[] = workers.flatMap((w) => w.running.map((job) => ({ ...job, worker: w.name })));
  return (
    <>
      <div class="head"><h2 class="grow">{one ? `What ${workers[0]?.name ?? "it"} runs` : "What they run"}</h2>{one && <button type="button" class="small" onClick={() => turn({ open: undefined }, true)}>Show all</button>}</div>
      {one && workers[0] && <span class="queues all"><span class="muted">serves</span>{workers[0].queues.map((name) => <QueueName key={name} name={name} />)}</span>}
      {rows.length
        ? <Table label="What runs" rows={rows} keyOf={(r) => r.job_id} columns={[
            { name: "Task", show: (r) => <a href={href(`/jobs/${r.job_id}`)}>{r.task}</a> },
            { name: "Job", show: (r) => <code title={r.job_id}>{short(r.job_id)}</code> },
            { name: "Queue", show: (r) => <QueueName name={r.queue} /> },
            { name: "Since", show: (r) => <Ago at={r.since} /> },
            { name: "Progress", show: (r) => <Progress of={r.progress} /> },
            { name: "Worker", show: (r) => <span class="muted">{r.worker}</span> },
          ]} />
        : <Empty title="Nothing runs at this moment" text="Jobs that take only milliseconds are over before they can be shown." />}
    </>
  );
}

function Progress({ of }: { of: RunningJob["progress"] }) {
  if (!of) return <span class="muted">–</span>;
  return <span class="line"><progress max={100} value={of.percent ?? 0} aria-label="Progress" /><span>{progressed(of)}</span></span>;
}
