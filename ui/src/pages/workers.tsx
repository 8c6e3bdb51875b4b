// A row for each worker process: what it runs in which slot, how it beats, how big it is.
import { get } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import type { RunningJob, Worker } from "../lib/types";
import { short } from "../lib/words";
import { QueueName, QueueNames } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";

const MOST_SQUARES = 40;

export function Workers() {
  const open = useRoute().query.get("open");
  const workers = useLoad(() => get<{ workers: Worker[] }>("/workers"), [], 2_000);
  const rows = workers.data?.workers ?? [];
  const show = (id: string | undefined) => turn({ open: id === open ? undefined : id }, true);
  const cursor = useCursor(rows.length, (n) => show(rows[n]?.id));
  return (
    <>
      <div class="head"><h1>Workers</h1></div>
      <Shown of={workers}>
        {(data) => data.workers.length
          ? <>
              <Table label="Workers" rows={data.workers} cursor={cursor} keyOf={(w) => w.id} columns={columns(open, show)} />
              <Running workers={data.workers.filter((w) => open === null || w.id === open)} one={open !== null} />
            </>
          : <Empty title="No worker is running" text="Jobs wait until one comes. Where your app is, type" command="penstock worker --app module:app" />}
      </Shown>
    </>
  );
}

function columns(open: string | null, show: (id: string) => void): Column<Worker>[] {
  return [
    { name: "Worker", show: (w) => <button type="button" class="link" aria-pressed={open === w.id} title={w.id} onClick={() => show(w.id)}>{w.name}</button> },
    { name: "Is", show: (w) => w.alive ? <span class="pill good">running</span> : <span class="pill bad">down</span> },
    { name: "Slots", show: (w) => <Slots worker={w} /> },
    { name: "Busy", num: true, show: (w) => `${w.active} of ${w.slots}` },
    { name: "Queues", show: (w) => <QueueNames of={w.queues} /> },
    { name: "Since", show: (w) => <Ago at={w.started_at} /> },
    { name: "Lease ends", title: "Each heartbeat puts it off", show: (w) => <Ago at={w.expires_at} /> },
  ];
}

/** Busy ones show their job, and lead to it. */
function Slots({ worker }: { worker: Worker }) {
  const shown = Math.min(worker.slots, MOST_SQUARES);
  const busy = Math.min(shown, Math.round((worker.active / Math.max(worker.slots, 1)) * shown) || Math.min(worker.active, 1));
  return (
    <span class="slots">
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
  return <span class="line"><progress max={100} value={of.percent ?? 0} aria-label="Progress" /><span>{of.percent ?? 0} %{of.message ? `, ${of.message}` : ""}</span></span>;
}
