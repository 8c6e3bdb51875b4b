// What holds jobs back: rates and concurrency by key, breakers, and the relay of the outbox.
import { get, post } from "../lib/api";
import { forBreaker } from "../lib/commands";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Relay } from "../lib/sights";
import type { Bound, Breaker, Lane, LimitInfo, Stats } from "../lib/types";
import { count, percent, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Meter } from "../parts/meter";
import { QueueName } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell } from "../parts/toast";

const PILL: Record<string, string> = { closed: "good", open: "bad", "half-open": "warn" };
const KEYS = 50; // shown at once
const LATE = 60; // seconds

export function Limits() {
  const who = useWho();
  const breakers = useLoad(() => get<{ breakers: Breaker[] }>("/breakers"), [], 3_000, false);
  return (
    <>
      <div class="head"><h1>Limits & breakers</h1></div>
      <h2>Circuit breakers</h2>
      <Shown of={breakers}>
        {(data) => data.breakers.length
          ? <Table label="Breakers" rows={data.breakers} keyOf={(b) => b.name} columns={columns(who.may("operate"), breakers.again)} />
          : <Empty title="No breakers" text={'A breaker stops jobs from running into a service that is down: app.breaker("whatsapp"), then needs="whatsapp" on its tasks.'} />}
      </Shown>
      <h2>Rates and concurrency</h2>
      <Bounds />
      <h2>Relay</h2>
      <RelayCard />
    </>
  );
}

const inWords = (bound: Bound) =>
  [bound.said || (bound.rate === null ? "" : `${bound.rate}/s`), bound.concurrency === null ? "" : `${bound.concurrency} at once`].filter(Boolean).join(", ");
const hasKeys = (limit: LimitInfo) => inWords(limit.per_key) !== "";

function Bounds() {
  const open = useRoute().query.get("open");
  const limits = useLoad(() => get<{ limits: LimitInfo[] }>("/limits"), [], 5_000, false);
  const stats = useLoad(() => get<Stats>("/stats"), [], 5_000, false);
  return (
    <Shown of={limits}>
      {(data) => data.limits.length
        ? <>
            <Table label="Limits" rows={data.limits} keyOf={(l) => l.name} columns={[
              { name: "Of", show: (l) => <Of name={l.name} /> },
              { name: "Limit", show: (l) => inWords(l.limit) || <span class="muted">–</span> },
              { name: "For each key", show: (l) => hasKeys(l) ? inWords(l.per_key) : <span class="muted">–</span> },
              { name: "Running", show: (l) => l.limit.concurrency === null ? count(l.active) : <Meter used={l.active} of={l.limit.concurrency} label={`${l.name}: running, of those that may`} /> },
              { name: "Ended lately", num: true, title: "A second, over the last minute", show: (l) => `${ended(l.name, stats.data).toFixed(1)}/s` },
              { name: "Needs", show: (l) => l.needs.join(", ") || <span class="muted">–</span> },
              { name: "Cools down", show: (l) => l.cooled_for === null ? <span class="muted">–</span> : <span class="pill warn">{seconds(l.cooled_for)}</span> },
              { name: "Keys", show: (l) => hasKeys(l) && <button type="button" class="small" aria-expanded={open === l.name} onClick={() => turn({ open: open === l.name ? undefined : l.name, after: undefined }, true)}>{open === l.name ? "Hide" : "Show"}<span class="sr"> the keys of {l.name}</span></button> },
            ]} />
            {data.limits.filter((l) => l.name === open).map((l) => <Keys key={l.name} limit={l} />)}
          </>
        : <Empty title="No limits" text={'rate="30/s" or max_active=2 on a queue, rate or concurrency on a task, holds over all workers; rate_key="{tenant}" for each tenant by itself.'} command="penstock limits" />}
    </Shown>
  );
}

/** A group is of a queue, of a task in it, or of the keys that the tasks of a queue share. */
function Of({ name }: { name: string }) {
  const [queue = "", task] = name.split(">");
  return <span class="line"><QueueName name={queue} />{task !== undefined && <span class="muted">{task ? <>› <a href={href(`/tasks/${encodeURIComponent(task)}`)}>{task}</a></> : "› its keys"}</span>}</span>;
}

function ended(name: string, stats: Stats | undefined): number {
  const [queue, task] = name.split(">");
  const found = task ? stats?.tasks.find((t) => t.queue === queue && t.task === task) : stats?.queues.find((q) => q.queue === queue);
  return found ? (found.throughput_per_minute + found.retries + found.dead_letters) / 60 : 0;
}

function Keys({ limit }: { limit: LimitInfo }) {
  const after = useRoute().query.get("after") ?? undefined;
  const keys = useLoad(() => get<{ keys: Lane[]; next: string | null }>("/limits/keys", { group: limit.name, limit: KEYS, after }), [limit.name, after], 3_000, false);
  const most = limit.per_key.concurrency;
  return (
    <section class="stack tight" aria-label={`Keys of ${limit.name}`}>
      <h2>The keys of {limit.name}</h2>
      <Shown of={keys}>
        {(data) => data.keys.length
          ? <Table label={`Keys of ${limit.name}`} rows={data.keys} keyOf={(k) => k.lane} columns={[
              { name: "Key", show: (k) => <code>{keyOf(k.lane)}</code> },
              { name: "Waiting", num: true, show: (k) => count(k.waiting) },
              { name: "Running", show: (k) => most === null ? count(k.active) : <Meter used={k.active} of={most} label={`${keyOf(k.lane)}: running, of those that may`} /> },
              { name: "Starts again", show: (k) => k.opens_in === null ? <span class="muted">{most !== null && k.active >= most ? "when a run has ended" : "at once"}</span> : `in ${seconds(k.opens_in)}` },
            ]} foot={data.next && <div class="pager"><span class="grow" /><button type="button" class="small" onClick={() => turn({ after: data.next as string })}>More</button></div>} />
          : <Empty title="No key holds a job now" text="Keys are shown while jobs of theirs wait or run, or their rate is not earned back." />}
      </Shown>
    </section>
  );
}

const keyOf = (lane: string) => lane.split(">").slice(2).join(">").replaceAll("%3F", "?").replaceAll("%25", "%") || lane;

function RelayCard() {
  const relay = useLoad(() => get<Relay>("/relay"), [], 5_000, false);
  return (
    <Shown of={relay}>
      {(data) => !data.outbox
        ? <Empty title="This app has no outbox" text={'Where your data is in another database than the jobs, Penstock(outbox="postgresql://…") brings them over in your own transactions.'} />
        : data.problem
          ? <div class="banner bad" role="alert"><span class="grow">The outbox does not answer: {data.problem}</span></div>
          : <>
              <section class="card"><dl class="facts">
                <dt>Lag</dt><dd>{(data.lag ?? 0) > LATE ? <span class="state failed">✕ {seconds(data.lag)}</span> : seconds(data.lag || null)} <span class="muted">the oldest row has waited; good up to {LATE} s</span></dd>
                <dt>Rows that wait</dt><dd>{count(data.waiting ?? 0)}</dd>
                <dt>Refused by the engine</dt><dd>{count(data.refused ?? 0)}</dd>
              </dl></section>
              {data.errors.length > 0 && <Table label="Refused rows" rows={data.errors} keyOf={(e) => e.id} columns={[
                { name: "Row", show: (e) => <code title={e.id}>{short(e.id)}</code> },
                { name: "Order key", show: (e) => e.order_key ?? <span class="muted">–</span> },
                { name: "Tries", num: true, show: (e) => count(e.tries) },
                { name: "Why", wrap: true, show: (e) => e.error },
                { name: "Again in", num: true, show: (e) => seconds(e.retry_in) },
              ]} />}
            </>}
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
        ? <button type="button" class="small" onClick={() => askBreaker(b, "open", done)}>Open</button>
        : <button type="button" class="small" onClick={() => askBreaker(b, "reset", done)}>Close</button>) },
  ];
}

export function askBreaker(breaker: Breaker, verb: "open" | "reset", done: () => void): void {
  ask({
    title: verb === "open" ? `Stop all jobs that need ${breaker.name}?` : `Let jobs that need ${breaker.name} run again?`,
    body: <p>{verb === "open" ? `They wait and burn no attempt; it is probed again after ${seconds(breaker.reset)}.` : "Its failures are forgotten."}</p>,
    action: verb === "open" ? "Open the breaker" : "Close the breaker",
    command: forBreaker(verb === "open" ? "open" : "close", breaker.name),
    act: async (reason) => {
      await post(`/breakers/${encodeURIComponent(breaker.name)}/${verb}`, { reason: reason || null });
      tell(`${breaker.name} is ${verb === "open" ? "open" : "closed"}`);
      done();
    },
  });
}
