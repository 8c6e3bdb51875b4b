// One chart: lines over time, gaps as gaps, the threshold as a line, one cursor for all charts of a page.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface Line { label: string; colour: string; values: (number | null)[] }

interface Given {
  title: string;
  times: number[]; // seconds
  lines: Line[];
  threshold?: number;
  unit: (value: number) => string;
}

const SYNC = uPlot.sync("page");
const HEIGHT = 160;

export function Chart(given: Given) {
  const box = useRef<HTMLDivElement>(null);
  const empty = given.lines.every((line) => line.values.every((value) => value === null));

  useEffect(() => {
    const place = box.current;
    if (!place || empty) return;
    let plot = draw(place, given);
    const redraw = () => (plot.destroy(), (plot = draw(place, given)));
    const watch = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
    watch.observe(place);
    addEventListener("penstock-theme", redraw);
    return () => (watch.disconnect(), removeEventListener("penstock-theme", redraw), plot.destroy());
  }, [given.times, given.lines, empty]);

  return (
    <section class="card chart" aria-label={given.title}>
      <div class="line wrap">
        <h2 class="grow">{given.title}</h2>
        <div class="legend">
          {given.lines.map((line) => (
            <span key={line.label}><span class="dot" style={{ color: `var(${line.colour})` }} />{line.label}</span>
          ))}
        </div>
      </div>
      {empty ? <p class="empty">Nothing ran in this time.</p> : <div ref={box} />}
    </section>
  );
}

function paint(colour: string): string {
  return colour.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(colour).trim() : colour;
}

function draw(place: HTMLElement, { times, lines, threshold, unit }: Given): uPlot {
  const grid = { stroke: paint("--line"), width: 1 };
  const axis = { stroke: paint("--muted"), grid, ticks: { show: false }, font: "11px system-ui" };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: SYNC.key }, y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, high) => [0, Math.max(high, threshold ?? 0, 1e-9) * 1.1] } },
    axes: [axis, { ...axis, size: 64, values: (_, splits) => splits.map(unit) }],
    series: [{}, ...lines.map((line) => ({
      label: line.label, stroke: paint(line.colour), width: 1.75, spanGaps: false, points: { show: false },
    }))],
    hooks: {
      draw: [(plot) => threshold !== undefined && rule(plot, threshold)],
      setCursor: [(plot) => hover(place, plot, lines, unit)],
    },
  };
  return new uPlot(options, [times, ...lines.map((line) => line.values)], place);
}

function rule(plot: uPlot, at: number): void {
  const y = plot.valToPos(at, "y", true);
  plot.ctx.save();
  plot.ctx.strokeStyle = paint("--danger");
  plot.ctx.setLineDash([4, 4]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(plot.bbox.left, y);
  plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
  plot.ctx.stroke();
  plot.ctx.restore();
}

function hover(place: HTMLElement, plot: uPlot, lines: Line[], unit: (value: number) => string): void {
  const at = plot.cursor.idx;
  const when = at === null || at === undefined ? undefined : plot.data[0][at];
  if (when === undefined || at === null || at === undefined) return place.removeAttribute("title");
  const values = lines.map((line) => `${line.label} ${line.values[at] == null ? "–" : unit(line.values[at] as number)}`);
  place.title = `${new Date(when * 1000).toLocaleString()}\n${values.join("\n")}`;
}

/** A line without axes, for tables. */
export function Spark({ values, label }: { values: number[]; label: string }) {
  if (values.length < 2 || values.every((v) => v === 0)) return <span class="muted">–</span>;
  const high = Math.max(...values);
  const points = values.map((v, n) => `${((n / (values.length - 1)) * 96).toFixed(1)},${(19 - (v / high) * 18).toFixed(1)}`);
  return (
    <svg width="96" height="20" role="img" aria-label={label}>
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
