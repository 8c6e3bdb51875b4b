// What is wrong, why, and the button that mends it; then how all does.
import type { ComponentChildren } from "preact";
import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import type { Gauge, Lately } from "../lib/sights";
import type { HealthReport, Point, Queue, QueueStats, Stats } from "../lib/types";
import { count, percent, seconds } from "../lib/words";
import { Spark } from "../parts/chart";
import { Shown } from "../parts/shown";
import { Attention } from "./attention";
import { Charts, DEPTH, ERRORS, Spans, TIME_MS, useGauges, useSeries, useSpan } from "./charts";
import { QueueTable } from "./queues";

export function Overview() {
  const queue = useRoute().query.get("queue") ?? undefined;
  const health = useLoad(() => get<HealthReport>("/health"), [], 5_000);
  const stats = useLoad(() => get<Stats>("/stats"), [], 5_000);
  const queues = useLoad(() => get<{ queues: Queue[] }>("/queues"), [], 5_000);
  const lately = useLoad(() => get<Lately>("/stats/lately"), [], 30_000, false);
  const again = () => (health.again(), queues.again());
  return (
    <>
      <div class="head"><h1>Overview</h1></div>
      <Shown of={health}>{(data) => <Attention health={data} stats={stats.data} queues={queues.data?.queues ?? []} again={again} />}</Shown>
      <Shown of={stats}>{(data) => <Metrics stats={data} health={health.data} />}</Shown>
      <div class="head">
        <h2 class="grow">{queue ? `How ${queue} does` : "How all queues do"}</h2>
        <label class="sr" for="of-queue">Queue</label>
        <select id="of-queue" value={queue ?? ""} onChange={(event) => turn({ queue: event.currentTarget.value || undefined }, true)}>
          <option value="">all queues</option>
          {stats.data?.queues.map((q) => <option key={q.queue} value={q.queue}>{q.queue}</option>)}
        </select>
        <Spans />
      </div>
      <Charts queue={queue} />
      <h2>Queues</h2>
      <QueueTable queues={queues} stats={stats.data} lately={lately.data} />
    </>
  );
}

/** `queue` is the one whose number it is, where it is not of all; `past` is of the same. */
interface Metric { name: string; queue?: string; value: string; over: boolean; good: string; bad: string; to: string; past: ComponentChildren }

function Metrics({ stats, health }: { stats: Stats; health: HealthReport | undefined }) {
  const series = useSeries(useSpan());
  const gauges = useGauges("hour");
  return (
    <div class="cards seven">
      {metrics(stats, health, series.data?.points ?? [], gauges.data?.points ?? []).map((metric) => (
        <a key={metric.name} class={`card metric ${metric.over ? "over" : ""}`} href={metric.to}>
          <span class="name">{metric.name}</span>
          <span class="value">{metric.value}</span>
          <span class="of clip" title={metric.queue}>{metric.queue}</span>
          {metric.past}
          <span class="limit">{metric.over ? `✕ ${metric.bad}` : metric.good}</span>
        </a>
      ))}
    </div>
  );
}

function Past({ of, values }: { of: string; values: (number | null)[] }) {
  return values.some((value) => value) ? <Spark values={values} label={`${of}, lately`} width={120} /> : <span class="spark" />;
}

function PastRuns({ of, queue, measure }: { of: string; queue?: string; measure: (point: Point) => number }) {
  const series = useSeries(useSpan(), queue);
  return <Past of={queue ? `${of} of ${queue}` : of} values={(series.data?.points ?? []).map(measure)} />;
}

function PastDepth({ of, queue }: { of: string; queue?: string }) {
  const gauges = useGauges("hour", queue);
  return <Past of={queue ? `${of}: ${queue}` : of} values={(gauges.data?.points ?? []).map((g) => g.waiting)} />;
}

/** The queue with most of it; none where no queue has any. */
function worst(queues: QueueStats[], of: (q: QueueStats) => number): QueueStats | undefined {
  return queues.reduce<QueueStats | undefined>((found, q) => (of(q) > (found ? of(found) : 0) ? q : found), undefined);
}

const STALLED_LOOKS = 5; // minutes

function metrics(stats: Stats, health: HealthReport | undefined, points: Point[], gauges: Gauge[]): Metric[] {
  const deepest = worst(stats.queues, (q) => q.waiting);
  const slowest = worst(stats.queues, (q) => q.p95_processing_time_ms);
  const failing = worst(stats.queues, (q) => q.error_rate);
  const [depth, time, errors] = [deepest?.waiting ?? 0, slowest?.p95_processing_time_ms ?? 0, failing?.error_rate ?? 0];
  const done = stats.queues.reduce((sum, q) => sum + q.throughput_per_minute, 0);
  const down = Object.values(health?.workers ?? {}).filter((w) => w.status === "down").length;
  const stalled = gauges.map((g) => g.stalled).filter((value): value is number => value !== null);
  const still = stalled.length >= STALLED_LOOKS && stalled.slice(-STALLED_LOOKS).every((value) => value > 0);
  return [
    {
      name: "Deepest queue", queue: deepest?.queue, value: count(depth), over: depth > DEPTH, good: "good up to 1,000", bad: "above 1,000", to: href("/queues"),
      past: <PastDepth key={deepest?.queue} of="Deepest queue" queue={deepest?.queue} />,
    },
    {
      name: "Run time, p95", queue: slowest?.queue, value: seconds(time / 1000 || null), over: time > TIME_MS, good: "good up to 30 s", bad: "above 30 s", to: href("/jobs", { q: "state:active" }),
      past: <PastRuns key={slowest?.queue} of="Run time, p95" queue={slowest?.queue} measure={(p) => p.p95_processing_time_ms} />,
    },
    {
      name: "Error rate", queue: failing?.queue, value: percent(errors), over: errors > ERRORS, good: "good up to 5 %", bad: "above 5 %", to: href("/dead-letters"),
      past: <PastRuns key={failing?.queue} of="Error rate" queue={failing?.queue} measure={(p) => p.error_rate} />,
    },
    { name: "Completed/min", value: count(Math.round(done)), over: false, good: "", bad: "", to: href("/jobs", { q: "state:completed" }), past: <Past of="Completed/min" values={points.map((p) => p.throughput_per_minute)} /> },
    { name: "Dead letters", value: count(stats.dlq_size), over: stats.dlq_size > 100, good: "good up to 100", bad: "above 100", to: href("/dead-letters"), past: <Past of="Dead letters" values={gauges.map((g) => g.dead_letters)} /> },
    { name: "Workers", value: down ? `${down} down` : count(stats.worker_count), over: down > 0, good: "none is down", bad: "down", to: href("/workers"), past: <Past of="Workers" values={gauges.map((g) => g.workers)} /> },
    { name: "Stalled jobs", value: stalled.length ? count(stalled.at(-1) ?? 0) : "–", over: still, good: "none for 5 min", bad: "for 5 min", to: href("/jobs", { q: "state:active" }), past: <Past of="Stalled jobs" values={gauges.map((g) => g.stalled)} /> },
  ];
}
