// What is wrong, why, and the button that mends it; then how all does.
import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Breaker, HealthReport, Point, Queue, QueueStats, Stats } from "../lib/types";
import { briefly, count, percent, quoted, seconds } from "../lib/words";
import { Chart } from "../parts/chart";
import { Command } from "../parts/copy";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { queueColumns } from "./queues";

const SPANS = ["hour", "day", "week"];

export function Overview() {
  const { query } = useRoute();
  const span = SPANS.includes(query.get("span") ?? "") ? (query.get("span") as string) : "hour";
  const queue = query.get("queue") ?? undefined;
  const health = useLoad(() => get<HealthReport>("/health"), [], 5_000);
  const stats = useLoad(() => get<Stats>("/stats"), [], 5_000);
  const series = useLoad(() => get<{ points: Point[] }>("/stats/series", { span, queue }), [span, queue], 15_000);
  return (
    <>
      <div class="head"><h1>Overview</h1></div>
      <Shown of={health}>{(data) => <Attention health={data} />}</Shown>
      <Shown of={stats}>{(data) => <Metrics stats={data} health={health.data} />}</Shown>
      <div class="head">
        <h2 class="grow">{queue ? `How ${queue} does` : "How all queues do"}</h2>
        <label class="sr" for="of-queue">Queue</label>
        <select id="of-queue" value={queue ?? ""} onChange={(event) => turn({ queue: event.currentTarget.value || undefined }, true)}>
          <option value="">all queues</option>
          {stats.data?.queues.map((q) => <option key={q.queue} value={q.queue}>{q.queue}</option>)}
        </select>
        <div class="segments" role="group" aria-label="Time">
          {SPANS.map((name) => <button key={name} type="button" aria-pressed={name === span} onClick={() => turn({ span: name }, true)}>{name}</button>)}
        </div>
      </div>
      <Shown of={series}>{(data) => <Charts points={data.points} />}</Shown>
      <h2>Queues</h2>
      <QueueTable stats={stats.data} />
    </>
  );
}

/** What keeps jobs from running though all is healthy: somebody, or a breaker, has stopped them. */
function stopped(health: HealthReport, breakers: Breaker[]): HealthReport["problems"] {
  const open = breakers.filter((b) => b.state !== "closed").map((b) => ({
    status: "degraded",
    text: `Breaker ${b.name} is ${b.state}: jobs that need it wait${b.retry_in === null ? "" : `, next probe in ${seconds(b.retry_in)}`}.`,
    next: `penstock breakers`,
  }));
  const paused = Object.entries(health.queues).filter(([, q]) => q.paused && q.waiting > 0).map(([name, q]) => ({
    status: "degraded",
    text: `Queue ${name} is paused, and ${count(q.waiting)} jobs wait in it.`,
    next: `penstock resume ${quoted(name)}`,
  }));
  return [...open, ...paused];
}

function Attention({ health }: { health: HealthReport }) {
  const breakers = useLoad(() => get<{ breakers: Breaker[] }>("/breakers"), [], 5_000);
  const told = health.problems.map((problem) => problem.text);
  const problems = [...health.problems, ...stopped(health, breakers.data?.breakers ?? []).filter((each) => !told.includes(each.text))];
  return (
    <section class="attention" aria-label="What needs attention">
      {problems.map((problem) => (
        <div key={problem.text} class={`fact ${problem.status === "unhealthy" ? "bad" : "warn"}`}>
          <span class="sign" aria-label={problem.status}>{problem.status === "unhealthy" ? "✕" : "△"}</span>
          <span class="grow">{problem.text}</span>
          {problem.next && <Command text={problem.next} />}
        </div>
      ))}
      {!problems.length && <p class="calm"><span aria-hidden="true">✓</span><span>Nothing needs you. Checked <Ago at={health.last_check} />.</span></p>}
    </section>
  );
}

interface Metric { name: string; value: string; over: boolean; limit: string; to: string }

function Metrics({ stats, health }: { stats: Stats; health: HealthReport | undefined }) {
  return (
    <div class="cards">
      {metrics(stats, health).map((metric) => (
        <a key={metric.name} class={`card metric ${metric.over ? "over" : ""}`} href={metric.to}>
          <span class="name">{metric.name}</span>
          <span class="value">{metric.value}</span>
          <span class="limit">{metric.limit && (metric.over ? `✕ above ${metric.limit}` : `good up to ${metric.limit}`)}</span>
        </a>
      ))}
    </div>
  );
}

function metrics(stats: Stats, health: HealthReport | undefined): Metric[] {
  const most = (of: (q: QueueStats) => number) => Math.max(0, ...stats.queues.map(of));
  const depth = most((q) => q.waiting);
  const time = most((q) => q.p95_processing_time_ms) / 1000;
  const errors = most((q) => q.error_rate);
  const done = stats.queues.reduce((sum, q) => sum + q.throughput_per_minute, 0);
  const down = Object.values(health?.workers ?? {}).filter((w) => w.status === "down").length;
  const stalled = Object.values(health?.queues ?? {}).filter((q) => q.status === "stalled").length;
  return [
    { name: "Deepest queue", value: count(depth), over: depth > 1_000, limit: "1,000", to: href("/queues") },
    { name: "Processing time, p95", value: seconds(time), over: time > 30, limit: "30 s", to: href("/jobs", { q: "state:active" }) },
    { name: "Error rate", value: percent(errors), over: errors > 0.05, limit: "5 %", to: href("/dead-letters") },
    { name: "Completed a minute", value: count(Math.round(done)), over: false, limit: "", to: href("/jobs", { q: "state:completed" }) },
    { name: "Dead letters", value: count(stats.dlq_size), over: stats.dlq_size > 100, limit: "100", to: href("/dead-letters") },
    { name: "Workers", value: down ? `${down} down` : count(stats.worker_count), over: down > 0, limit: "0 down", to: href("/workers") },
    { name: "Stalled queues", value: count(stalled), over: stalled > 0, limit: "0", to: href("/queues") },
  ];
}

function Charts({ points }: { points: Point[] }) {
  const times = points.map((point) => Date.parse(point.at) / 1000);
  const ran = (point: Point) => point.throughput_per_minute > 0 || point.error_rate > 0 || point.p99_processing_time_ms > 0;
  const line = (label: string, colour: string, of: (point: Point) => number, always = false) =>
    ({ label, colour, values: points.map((point) => (always || ran(point) ? of(point) : null)) });
  return (
    <div class="charts">
      <Chart title="Throughput" times={times} unit={(v) => `${count(Math.round(v))}/min`} lines={[
        line("completed", "--completed", (p) => p.throughput_per_minute), line("retried", "--blocked", (p) => p.retries), line("dead letters", "--failed", (p) => p.dead_letters)]} />
      <Chart title="Run time" times={times} unit={briefly} lines={[
        line("p50", "--active", (p) => p.p50_processing_time_ms), line("p95", "--delayed", (p) => p.p95_processing_time_ms), line("p99", "--failed", (p) => p.p99_processing_time_ms)]} />
      <Chart title="Wait time" times={times} unit={briefly} lines={[
        line("p50", "--active", (p) => p.p50_wait_time_ms), line("p95", "--delayed", (p) => p.p95_wait_time_ms), line("p99", "--failed", (p) => p.p99_wait_time_ms)]} />
      <Chart title="Error rate" times={times} threshold={0.05} unit={percent} lines={[line("errors", "--failed", (p) => p.error_rate)]} />
    </div>
  );
}

function QueueTable({ stats }: { stats: Stats | undefined }) {
  const who = useWho();
  const queues = useLoad(() => get<{ queues: Queue[] }>("/queues"), []);
  const by = new Map(stats?.queues.map((q) => [q.queue, q]));
  const more: Column<Queue>[] = [
    { name: "a minute", num: true, show: (q) => count(Math.round(by.get(q.name)?.throughput_per_minute ?? 0)) },
    { name: "oldest", num: true, show: (q) => seconds(by.get(q.name)?.oldest_waiting_s || null) },
  ];
  return (
    <Shown of={queues}>
      {(data) => {
        const columns = queueColumns(who.may("operate"), queues.again);
        return data.queues.length
          ? <Table label="Queues" rows={data.queues} keyOf={(q) => q.name} columns={[...columns.slice(0, -1), ...more, ...columns.slice(-1)]} />
          : <Empty title="No queues yet" command="penstock worker --app module:app" />;
      }}
    </Shown>
  );
}
