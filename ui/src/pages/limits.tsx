import { get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { useWho } from "../lib/session";
import type { Bound, Breaker, LimitInfo } from "../lib/types";
import { percent, quoted, seconds } from "../lib/words";
import { ask } from "../parts/ask";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell } from "../parts/toast";

const PILL: Record<string, string> = { closed: "good", open: "bad", "half-open": "warn" };

export function Limits() {
  const who = useWho();
  const breakers = useLoad(() => get<{ breakers: Breaker[] }>("/breakers"), [], 3_000);
  return (
    <>
      <div class="head"><h1>Limits & breakers</h1></div>
      <h2>Rates and concurrency</h2>
      <Bounds />
      <h2>Circuit breakers</h2>
      <Shown of={breakers}>
        {(data) => data.breakers.length
          ? <Table label="Breakers" rows={data.breakers} keyOf={(b) => b.name} columns={columns(who.may("operate"), breakers.again)} />
          : <Empty title="No breakers" text={'A breaker stops jobs from running into a service that is down: app.breaker("whatsapp"), then needs="whatsapp" on its tasks.'} />}
      </Shown>
    </>
  );
}

const inWords = (bound: Bound) =>
  [bound.said || (bound.rate === null ? "" : `${bound.rate}/s`), bound.concurrency === null ? "" : `${bound.concurrency} at once`].filter(Boolean).join(", ");

function Bounds() {
  const limits = useLoad(() => get<{ limits: LimitInfo[] }>("/limits"), [], 5_000);
  return (
    <Shown of={limits}>
      {(data) => data.limits.length
        ? <Table label="Limits" rows={data.limits} keyOf={(l) => l.name} columns={[
            { name: "Of", show: (l) => <code>{l.name}</code> },
            { name: "Limit", show: (l) => inWords(l.limit) || <span class="muted">–</span> },
            { name: "For each key", show: (l) => inWords(l.per_key) || <span class="muted">–</span> },
            { name: "Needs", show: (l) => l.needs.join(", ") || <span class="muted">–</span> },
            { name: "Running", num: true, show: (l) => l.active },
            { name: "Cools down", show: (l) => l.cooled_for === null ? <span class="muted">–</span> : seconds(l.cooled_for) },
          ]} />
        : <Empty title="No limits" text={'rate="30/s" or concurrency=2 on a queue or a task holds over all workers.'} />}
    </Shown>
  );
}

function columns(mayAct: boolean, done: () => void): Column<Breaker>[] {
  return [
    { name: "Breaker", show: (b) => b.name },
    { name: "Is", show: (b) => <span class={`pill ${PILL[b.state]}`}>{b.state}</span> },
    { name: "Since", show: (b) => <Ago at={b.since} /> },
    { name: "Next probe", show: (b) => b.retry_in === null ? <span class="muted">–</span> : `in ${seconds(b.retry_in)}` },
    { name: "Failures", num: true, show: (b) => b.failure_rate === null ? `${b.failures} of ${b.threshold}` : `${b.failures} of ${b.runs} (opens at ${percent(b.failure_rate)})` },
    { name: "Probing", num: true, show: (b) => `${b.probing} of ${b.probes}` },
    { name: "", show: (b) => mayAct && (b.state === "closed"
        ? <button type="button" class="small" onClick={() => set(b, "open", done)}>Open</button>
        : <button type="button" class="small" onClick={() => set(b, "reset", done)}>Close</button>) },
  ];
}

function set(breaker: Breaker, verb: "open" | "reset", done: () => void): void {
  ask({
    title: verb === "open" ? `Stop all jobs that need ${breaker.name}?` : `Let jobs that need ${breaker.name} run again?`,
    body: <p>{verb === "open" ? `They wait and burn no attempt; it is probed again after ${seconds(breaker.reset)}.` : "Its failures are forgotten."}</p>,
    action: verb === "open" ? "Open the breaker" : "Close the breaker",
    command: `penstock breakers ${verb} ${quoted(breaker.name)}`,
    act: async (reason) => {
      await post(`/breakers/${encodeURIComponent(breaker.name)}/${verb}`, { reason: reason || null });
      tell(`${breaker.name} is ${verb === "open" ? "open" : "closed"}`);
      done();
    },
  });
}
