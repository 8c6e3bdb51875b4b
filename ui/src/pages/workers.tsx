import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import type { Worker } from "../lib/types";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";

const MOST_SQUARES = 40;

export function Workers() {
  const workers = useLoad(() => get<{ workers: Worker[] }>("/workers"), [], 3_000);
  return (
    <>
      <div class="head"><h1>Workers</h1></div>
      <Shown of={workers}>
        {(data) => data.workers.length
          ? <Table label="Workers" rows={data.workers} keyOf={(w) => w.id} columns={COLUMNS} />
          : <Empty title="No worker is running" text="Jobs wait until one comes. Where your app is, type" command="penstock worker --app module:app" />}
      </Shown>
    </>
  );
}

const COLUMNS: Column<Worker>[] = [
  { name: "Worker", show: (w) => <span title={w.id}>{w.name}</span> },
  { name: "Is", show: (w) => w.alive ? <span class="pill good">running</span> : <span class="pill bad">down</span> },
  { name: "Slots", show: (w) => <Slots worker={w} /> },
  { name: "Busy", num: true, show: (w) => `${w.active} of ${w.slots}` },
  { name: "Queues", show: (w) => w.queues.map((q, n) => [n ? ", " : "", <a key={q} href={href("/jobs", { q: `state:active queue:${q}` })}>{q}</a>]) },
  { name: "Since", show: (w) => <Ago at={w.started_at} /> },
  { name: "Lease ends", show: (w) => <Ago at={w.expires_at} /> },
];

function Slots({ worker }: { worker: Worker }) {
  const shown = Math.min(worker.slots, MOST_SQUARES);
  const busy = Math.round((worker.active / Math.max(worker.slots, 1)) * shown);
  return (
    <span class="slots" role="img" aria-label={`${worker.active} of ${worker.slots} slots are busy`}>
      {Array.from({ length: shown }, (_, n) => <i key={n} class={n < busy ? "busy" : ""} />)}
    </span>
  );
}
