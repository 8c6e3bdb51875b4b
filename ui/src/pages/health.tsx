// Health: each check, what it found, and what to do.
import { get } from "../lib/api";
import { useIdle } from "../lib/idle";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import type { Findings } from "../lib/sights";
import type { HealthReport } from "../lib/types";
import { count, seconds } from "../lib/words";
import { Command } from "../parts/copy";
import { QueueName, QueueNames } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import { Told } from "../parts/told";
import { Errors } from "./queues";

const KIND: Record<string, string> = {
  healthy: "good", ok: "good", running: "good", degraded: "warn", backlogged: "warn", paused: "warn", warning: "warn",
  unhealthy: "bad", stalled: "bad", down: "bad", failing: "bad", unreachable: "bad", unsafe: "bad", unusable: "bad",
};
const GLYPH: Record<string, string> = { good: "✓", warn: "△", bad: "✕" };

function Verdict({ of }: { of: string }) {
  const kind = KIND[of] ?? "";
  return <span class={`pill ${kind}`}><span aria-hidden="true">{GLYPH[kind] ?? "·"}</span>{of}</span>;
}

export function Health() {
  const health = useLoad(() => get<HealthReport>("/health"), [], 5_000, false);
  return (
    <>
      <div class="head"><h1 class="grow">Health</h1>{health.data && <Verdict of={health.data.status} />}</div>
      <Shown of={health}>{(data) => <Report health={data} />}</Shown>
      <h2>Is the place where jobs live safe?</h2>
      <Safety />
    </>
  );
}

function Report({ health }: { health: HealthReport }) {
  const queues = Object.entries(health.queues).map(([name, queue]) => ({ name, ...queue }));
  const workers = Object.entries(health.workers).map(([name, worker]) => ({ name, ...worker }));
  const idle = useIdle(health.problems);
  const fails = (queue: string) => health.problems.some((problem) => problem.text.startsWith(`queue ${queue}: `)); // its error rate is blamed
  return (
    <>
      <section class="attention" aria-label="What is not well">
        {health.problems.map((problem) => (
          <div key={problem.text} class={`fact ${problem.status === "unhealthy" ? "bad" : "warn"}`}>
            <span class="sign" role="img" aria-label={problem.status}>{problem.status === "unhealthy" ? "✕" : "△"}</span>
            <span class="grow"><Told text={problem.text} />{idle(problem) && <span class="muted">. <Told text={idle(problem) ?? ""} /></span>}</span>
            {idle(problem) ? <a class="button small" href={href("/workers")}>Workers</a> : problem.next && <Command text={problem.next} />}
          </div>
        ))}
        {!health.problems.length && <p class="calm"><span aria-hidden="true">✓</span><span>All is well. Checked <Ago at={health.last_check} />.</span></p>}
      </section>
      <section class="card"><dl class="facts">
        <dt>Engine</dt><dd><Verdict of={health.engine.status} /> {health.engine.error ?? `answered all in ${seconds(health.engine.answered_in)}`}</dd>
        <dt>Dead letters</dt><dd><a href={href("/dead-letters")}>{count(health.dlq_size)}</a> wait for somebody</dd>
        <dt>Checked</dt><dd><Ago at={health.last_check} /></dd>
      </dl></section>
      <h2>Queues</h2>
      {queues.length ? <Table label="Health of queues" rows={queues} keyOf={(q) => q.name} columns={[
        { name: "Queue", show: (q) => <QueueName name={q.name} /> },
        { name: "Is", show: (q) => <span class="line">{!(q.status === "ok" && fails(q.name)) && <Verdict of={q.status} />}{fails(q.name) && <Verdict of="failing" />}{q.paused && <Verdict of="paused" />}</span> },
        { name: "Waiting", num: true, show: (q) => count(q.waiting) },
        { name: "Oldest", num: true, show: (q) => seconds(q.oldest_age) },
        { name: "Active", num: true, show: (q) => count(q.active) },
        { name: "Errors", num: true, title: "Of what ended in the last minute", show: (q) => <Errors share={q.error_rate} over={fails(q.name)} /> },
      ]} /> : <Empty title="No queue has had a job yet" text="Those that are declared are on the page of queues." command="penstock queues" />}
      <h2>Workers</h2>
      {workers.length ? <Table label="Health of workers" rows={workers} keyOf={(w) => w.name} columns={[
        { name: "Worker", show: (w) => <a href={href("/workers")}>{w.name}</a> },
        { name: "Is", show: (w) => <Verdict of={w.status} /> },
        { name: "Busy", num: true, show: (w) => `${count(w.processing)} of ${count(w.concurrency)}` },
        { name: "Queues", show: (w) => <QueueNames of={w.queues} /> },
      ]} /> : <Empty title="No worker is running" text="Jobs wait until one comes." command="penstock worker --app module:app" />}
    </>
  );
}

function Safety() {
  const found = useLoad(() => get<Findings>("/health/findings"), [], 300_000, false);
  return (
    <Shown of={found}>
      {(data) => (
        <>
          {!data.safe && <div class="banner bad" role="alert"><span class="grow">Workers refuse to start here. Mend what is unsafe below, or accept it by name.</span><Command text="penstock doctor" /></div>}
          <Table label="What the doctor found" rows={data.findings} keyOf={(f) => `${f.name} ${f.text}`} columns={[
            { name: "Check", show: (f) => f.name },
            { name: "Is", show: (f) => <span class="line"><Verdict of={f.level} />{data.accepted.includes(f.name) && <span class="pill">accepted</span>}</span> },
            { name: "What was found, and what to do", wrap: true, show: (f) => f.text },
          ]} foot={<div class="pager"><span class="grow" /><button type="button" class="small" onClick={found.again}>Look again</button></div>} />
        </>
      )}
    </Shown>
  );
}
