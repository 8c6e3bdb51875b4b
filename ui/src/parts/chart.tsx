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
  step: number; // the least that the unit tells apart
  empty?: string;
}

const SYNC = uPlot.sync("page");
const HEIGHT = 160;

export function Chart(given: Given) {
  const box = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const empty = given.lines.every((line) => line.values.every((value) => value === null));

  const latest = useRef(given);
  const plotted = useRef<uPlot>();
  latest.current = given;

  useEffect(() => {
    const place = box.current;
    const words = legend.current;
    if (!place || !words || empty) return;
    const make = () => (plotted.current = draw(place, words, latest));
    const redraw = () => (plotted.current?.destroy(), make());
    const watch = new ResizeObserver(() => plotted.current?.setSize({ width: place.clientWidth, height: HEIGHT }));
    make();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    watch.observe(place);
    addEventListener("penstock-theme", redraw);
    dark.addEventListener("change", redraw);
    return () => {
      watch.disconnect();
      removeEventListener("penstock-theme", redraw);
      dark.removeEventListener("change", redraw);
      plotted.current?.destroy();
      plotted.current = undefined;
    };
  }, [given.lines.map((line) => line.label).join(), empty]);

  useEffect(() => plotted.current?.setData(dataOf(given)), [given.times, given.lines]); // what the cursor shows stays

  return (
    <section class="card chart" aria-label={given.title}>
      <div class="line wrap">
        <h2 class="grow">{given.title}</h2>
        <div class="legend" ref={legend}>
          {given.lines.map((line) => (
            <span key={line.label}><span class="dot" style={{ color: `var(${line.colour})` }} />{line.label} <b class="at" /></span>
          ))}
        </div>
      </div>
      {empty ? <p class="empty">{given.empty ?? "Nothing ran in this time."}</p> : <div class="plot" ref={box} role="img" aria-label={inWords(given)} />}
    </section>
  );
}

/** What the lines show, for those who do not see them. */
function inWords({ lines, threshold, unit }: Given): string {
  const told = lines.map((line) => {
    const known = line.values.filter((value): value is number => value !== null);
    return known.length ? `${line.label}: lately ${unit(known.at(-1) as number)}, at most ${unit(Math.max(...known))}` : `${line.label}: nothing`;
  });
  return [...told, ...(threshold === undefined ? [] : [`threshold ${unit(threshold)}`])].join("; ");
}

function paint(colour: string): string {
  return colour.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(colour).trim() : colour;
}

const dataOf = ({ times, lines }: Given): uPlot.AlignedData => [times, ...lines.map((line) => line.values)];

/** What is drawn is looked up when it is drawn: numbers come anew while the plot stays. */
function draw(place: HTMLElement, legend: HTMLElement, latest: { current: Given }): uPlot {
  const { lines } = latest.current;
  const grid = { stroke: paint("--line"), width: 1 };
  const axis = { stroke: paint("--muted"), grid, ticks: { show: false }, font: "11px system-ui" };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: SYNC.key }, y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, high) => [0, Math.max(high, latest.current.threshold ?? 0, latest.current.step) * 1.1] } },
    axes: [{ ...axis, space: 64, size: 28, values: (_, splits) => splits.map(onAxis(latest.current.times)) }, { ...axis, size: 64, incrs: stepsFrom(latest.current.step), values: (_, splits) => splits.map(latest.current.unit) }],
    series: [{}, ...lines.map((line) => ({
      label: line.label, stroke: paint(line.colour), width: 1.75, spanGaps: false, points: { show: (_: uPlot, n: number) => lonely(latest.current.lines[n - 1]?.values ?? []), size: 4 },
    }))],
    hooks: {
      draw: [(plot) => latest.current.threshold !== undefined && rule(plot, latest.current.threshold)],
      setCursor: [(plot) => hover(place, legend, plot, latest.current)],
    },
  };
  return new uPlot(options, dataOf(latest.current), place);
}

/** No two labels of an axis are the same: they are apart by what their unit shows. */
function stepsFrom(least: number): number[] {
  return Array.from({ length: 12 }, (_, n) => [1, 2, 5].map((digit) => +(digit * least * 10 ** n).toPrecision(6))).flat();
}

/** Hours and minutes; of more than two days, the day. */
function onAxis(times: number[]): (at: number) => string {
  const long = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * 86_400;
  const format = new Intl.DateTimeFormat(undefined, long ? { weekday: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return (at) => format.format(at * 1000);
}

/** Whether a value stands between two gaps: a line would not show it. */
const lonely = (values: (number | null)[]) =>
  values.some((value, n) => value !== null && (values[n - 1] ?? null) === null && (values[n + 1] ?? null) === null);

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

/** The exact values under the cursor stand in the legend, the time in the title. */
function hover(place: HTMLElement, legend: HTMLElement, plot: uPlot, { lines, unit }: Given): void {
  const at = plot.cursor.idx;
  const when = at === null || at === undefined ? undefined : plot.data[0][at];
  legend.querySelectorAll(".at").forEach((place, n) => {
    const value = when === undefined ? undefined : lines[n]?.values[at as number];
    place.textContent = when === undefined ? "" : value == null ? "–" : unit(value);
  });
  if (when === undefined) place.removeAttribute("title");
  else place.title = `${new Date(when * 1000).toLocaleString()} · ${new Date(when * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A line without axes, for tables and cards; a value that stands alone is a dot. */
export function Spark({ values, label, colour, width = 96 }: { values: (number | null)[]; label: string; colour?: string; width?: number }) {
  const high = Math.max(0, ...values.map((value) => value ?? 0));
  if (high === 0) return <span class="muted" aria-label={`${label}: nothing`} role="img">–</span>;
  const place = (value: number, n: number) => `${(values.length < 2 ? width / 2 : (n / (values.length - 1)) * (width - 4) + 2).toFixed(1)},${(18 - (value / high) * 16).toFixed(1)}`;
  return (
    <svg class="spark" width={width} height="20" viewBox={`0 0 ${width} 20`} role="img" aria-label={label} style={colour ? { color: `var(${colour})` } : undefined}>
      {pieces(values, place).map((points) => (
        <polyline key={points[0]} points={(points.length > 1 ? points : [points[0], points[0]]).join(" ")} fill="none" stroke="currentColor"
          stroke-width={points.length > 1 ? 1.5 : 3} stroke-linejoin="round" stroke-linecap="round" />
      ))}
    </svg>
  );
}

/** What lies between gaps. */
function pieces(values: (number | null)[], place: (value: number, n: number) => string): string[][] {
  const found: string[][] = [[]];
  values.forEach((value, n) => {
    if (value !== null) found.at(-1)?.push(place(value, n));
    else if (found.at(-1)?.length) found.push([]);
  });
  return found.filter((points) => points.length);
}
