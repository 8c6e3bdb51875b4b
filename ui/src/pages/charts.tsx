// How queues do over time: the same charts for all of them and for one.
import { useMemo } from "preact/hooks";
import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { turn, useRoute } from "../lib/route";
import type { Gauge } from "../lib/sights";
import type { Point } from "../lib/types";
import { briefly, count, percent } from "../lib/words";
import { Chart, type Line } from "../parts/chart";
import { Shown } from "../parts/shown";

export const DEPTH = 1_000;
export const TIME_MS = 30_000;
export const ERRORS = 0.05;
const SPANS = ["hour", "day", "week"];

export function useSpan(): string {
  const span = useRoute().query.get("span") ?? "";
  return SPANS.includes(span) ? span : "hour";
}

export function Spans() {
  const span = useSpan();
  return (
    <div class="segments" role="group" aria-label="Time">
      {SPANS.map((name) => <button key={name} type="button" aria-pressed={name === span} onClick={() => turn({ span: name }, true)}>{name}</button>)}
    </div>
  );
}

export const useSeries = (span: string, queue?: string) =>
  useLoad(() => get<{ points: Point[] }>("/stats/series", { span, queue }), [span, queue], span === "hour" ? 5_000 : 30_000, false);

/** What stood is kept by the minute, and told for a day at most. */
export const useGauges = (span: string, queue?: string) =>
  useLoad(() => (span === "week" ? Promise.resolve({ points: [] }) : get<{ points: Gauge[] }>("/stats/gauges", { span, queue })), [span, queue], 15_000, false);

export function Charts({ queue }: { queue?: string }) {
  const span = useSpan();
  const series = useSeries(span, queue);
  const gauges = useGauges(span, queue);
  return <Shown of={series}>{(data) => <Drawn points={data.points} gauges={gauges.data?.points ?? []} span={span} one={queue !== undefined} />}</Shown>;
}

function Drawn({ points, gauges, span, one }: { points: Point[]; gauges: Gauge[]; span: string; one: boolean }) {
  const lines = useMemo(() => linesOf(points, span), [points, span]);
  const depth = useMemo(() => ({ times: timesOf(gauges), lines: [{ label: one ? "waiting" : "deepest queue", colour: "--waiting", values: gauges.map((g) => g.waiting) }] }), [gauges, one]);
  return (
    <div class="charts">
      <Chart title="Throughput" times={lines.times} unit={(v) => `${rounded(v)}/min`} step={0.1} lines={lines.throughput} />
      <Chart title="Error rate" times={lines.times} threshold={ERRORS} unit={percent} step={0.001} lines={lines.errors} />
      <Chart title="Run time" times={lines.times} unit={briefly} step={1} lines={lines.run} threshold={over(lines.run, TIME_MS) ? TIME_MS : undefined} />
      <Chart title="Wait time" times={lines.times} unit={briefly} step={1} lines={lines.wait} />
      {span !== "week" && <Chart title="Depth" times={depth.times} threshold={over(depth.lines, DEPTH) ? DEPTH : undefined} unit={(v) => count(Math.round(v))} step={1} lines={depth.lines} empty="Nobody has looked: workers do, every minute, while alerts are on." />}
    </div>
  );
}

/** A threshold far above all values would make the line flat: it is drawn from half of it on. */
const over = (lines: Line[], limit: number) => lines.some((line) => line.values.some((value) => (value ?? 0) > limit / 2));
const rounded = (value: number) => (value < 10 ? +value.toFixed(1) : count(Math.round(value)));
const timesOf = (points: { at: string }[]) => points.map((point) => Date.parse(point.at) / 1000);
const MINUTES: Record<string, number> = { hour: 1, day: 15, week: 120 };

function linesOf(points: Point[], span: string) {
  const ran = (point: Point) => point.throughput_per_minute > 0 || point.error_rate > 0 || point.p99_processing_time_ms > 0;
  const each = (label: string, colour: string, of: (point: Point) => number): Line =>
    ({ label, colour, values: points.map((point) => (ran(point) ? of(point) : null)) });
  const busy = points.some(ran);
  const steady = (label: string, colour: string, of: (point: Point) => number): Line =>
    ({ label, colour, values: points.map((point) => (busy ? of(point) : null)) });
  const a = MINUTES[span] ?? 1;
  return {
    times: timesOf(points),
    throughput: [
      steady("completed", "--completed", (p) => p.throughput_per_minute), steady("retried", "--blocked", (p) => p.retries / a),
      steady("dead letters", "--failed", (p) => p.dead_letters / a),
    ],
    errors: [each("errors", "--failed", (p) => p.error_rate)],
    run: [
      each("p50", "--active", (p) => p.p50_processing_time_ms), each("p95", "--delayed", (p) => p.p95_processing_time_ms),
      each("p99", "--failed", (p) => p.p99_processing_time_ms),
    ],
    wait: [
      each("p50", "--active", (p) => p.p50_wait_time_ms), each("p95", "--delayed", (p) => p.p95_wait_time_ms),
      each("p99", "--failed", (p) => p.p99_wait_time_ms),
    ],
  };
}
