import { get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Queue } from "../lib/types";
import { count, quoted } from "../lib/words";
import { ask } from "../parts/ask";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { tell } from "../parts/toast";

const STATES = ["waiting", "delayed", "blocked", "active", "completed", "failed"];

export function Queues() {
  const who = useWho();
  const queues = useLoad(() => get<{ queues: Queue[] }>("/queues"), []);
  return (
    <>
      <div class="head"><h1>Queues</h1></div>
      <Shown of={queues}>
        {(data) => data.queues.length
          ? <Table label="Queues" rows={data.queues} keyOf={(q) => q.name} columns={queueColumns(who.may("operate"), queues.again)} />
          : <Empty title="No queues yet" text="They come with the first worker, or the first job." command="penstock worker --app module:app" />}
      </Shown>
    </>
  );
}

export function queueColumns(mayAct: boolean, done: () => void): Column<Queue>[] {
  return [
    { name: "Queue", show: (q) => <a href={href("/jobs", { q: `queue:${q.name}` })}>{q.name}</a> },
    { name: "Is", show: (q) => q.paused ? <span class="pill warn">paused</span> : q.declared ? <span class="muted">open</span> : <span class="pill" title="No app here declares it">undeclared</span> },
    ...STATES.map((state): Column<Queue> => ({ name: state, num: true, show: (q) => <Counted queue={q} state={state} /> })),
    { name: "parked", num: true, title: "Waiting for a worker that knows the task", show: (q) => q.parked ? count(q.parked) : <span class="muted">0</span> },
    { name: "", show: (q) => mayAct && <button type="button" class="small" onClick={() => turnQueue(q, done)}>{q.paused ? "Resume" : "Pause"}</button> },
  ];
}

function Counted({ queue, state }: { queue: Queue; state: string }) {
  const n = queue.counts[state] ?? 0;
  if (!n) return <span class="muted">0</span>;
  return <a href={href("/jobs", { q: `state:${state} queue:${queue.name}` })}>{count(n)}</a>;
}

function turnQueue(queue: Queue, done: () => void): void {
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
