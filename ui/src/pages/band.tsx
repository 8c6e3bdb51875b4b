// The time to come, a lane for each schedule: ticks as marks, dependencies as arrows, clock changes as seams, lateness as tails.
import { useMemo } from "preact/hooks";
import { go, href, turn, useRoute } from "../lib/route";
import type { Lane, Plan, Seam } from "../lib/sights";
import { ago, seconds } from "../lib/words";
import { marks, MINE, onWall } from "../lib/zones";

const LATE = 1_000; // ms
const DAY = 86_400_000; // ms
const ROW = 28; // px, as in the stylesheet
const SPANS = ["day", "week"];

export function Band({ plan }: { plan: Plan }) {
  const { query } = useRoute();
  const span = query.get("span") === "week" ? "week" : "day";
  const zones = [...new Set([MINE, "UTC", ...plan.lanes.flatMap((lane) => lane.tz ?? [])])];
  const zone = zones.find((name) => name === query.get("zone")) ?? MINE;
  const view = new View(plan, zone);
  return (
    <section class="stack tight" aria-label={`The next ${span}`}>
      <div class="head">
        <h2 class="grow">{heading(span, query.get("since") ? plan.since : undefined, zone)}</h2>
        <Moves plan={plan} />
        <label class="sr" for="zone">Time zone</label>
        <select id="zone" value={zone} onChange={(event) => turn({ zone: event.currentTarget.value === MINE ? undefined : event.currentTarget.value }, true)}>
          {zones.map((name) => <option key={name} value={name}>{name === MINE ? `${name} (yours)` : name}</option>)}
        </select>
        <div class="segments" role="group" aria-label="How far">
          {SPANS.map((name) => <button key={name} type="button" aria-pressed={name === span} onClick={() => turn({ span: name === "day" ? undefined : name }, true)}>{name}</button>)}
        </div>
      </div>
      <div class="band" tabIndex={0} role="region" aria-label="Time line of schedules">
        <div class="field">
          <Axis view={view} hours={span === "week" ? 24 : 3} />
          <ul class="lanes">{plan.lanes.map((lane) => <LaneRow key={lane.id} lane={lane} view={view} />)}</ul>
          <Arrows view={view} />
          {view.inside(view.now) && <div class="now" style={{ left: view.left(view.now) }} title={`now: ${onWall(view.now, zone)}`} />}
        </div>
      </div>
      <Seams seams={plan.seams} zone={zone} />
    </section>
  );
}

function heading(span: string, since: string | undefined, zone: string): string {
  const long = span === "week" ? "seven days" : "24 hours";
  if (!since) return `The next ${long}`;
  return `From ${new Date(since).toLocaleString(undefined, { timeZone: zone, dateStyle: "medium", timeStyle: "short" })} on, ${long}`;
}

class View {
  readonly since: number;
  readonly until: number;
  readonly now: number;
  constructor(readonly plan: Plan, readonly zone: string) {
    [this.since, this.until, this.now] = [Date.parse(plan.since), Date.parse(plan.until), Date.parse(plan.now)];
  }
  share = (at: number) => ((at - this.since) / (this.until - this.since)) * 100;
  left = (at: number) => `${this.share(at).toFixed(3)}%`;
  wide = (from: number, to: number) => `${Math.max(0, this.share(Math.min(to, this.until)) - this.share(from)).toFixed(3)}%`;
  inside = (at: number) => at >= this.since && at < this.until;
}

function Moves({ plan }: { plan: Plan }) {
  const length = Date.parse(plan.until) - Date.parse(plan.since) > 2 * DAY ? 7 * DAY : DAY;
  const to = (since: number) => turn({ since: new Date(since).toISOString() }, true);
  return (
    <div class="segments" role="group" aria-label="Move in time">
      <button type="button" aria-label="Earlier" onClick={() => to(Date.parse(plan.since) - length)}>‹</button>
      <button type="button" onClick={() => turn({ since: undefined }, true)}>now</button>
      <button type="button" aria-label="Later" onClick={() => to(Date.parse(plan.until))}>›</button>
    </div>
  );
}

function Axis({ view, hours }: { view: View; hours: number }) {
  const found = useMemo(() => marks(view.since, view.until, view.zone, hours), [view.since, view.until, view.zone, hours]);
  return (
    <div class="axis" aria-hidden="true">
      {found.map((mark) => <span key={mark.at} class={mark.strong ? "strong" : ""} style={{ left: view.left(mark.at) }}>{mark.text}</span>)}
    </div>
  );
}

function LaneRow({ lane, view }: { lane: Lane; view: View }) {
  const first = lane.runs[0];
  return (
    <li class={`lane ${lane.paused ? "paused" : ""}`}>
      <a class="who clip" href={href(`/schedules/${encodeURIComponent(lane.id)}`)} title={lane.id}>{lane.id}</a>
      <span class="sr">{lane.paused ? "paused" : first ? `next ${ago(first, view.now)}, ${lane.more ? "more than " : ""}${lane.runs.length} runs in this time` : "no run in this time"}</span>
      {view.plan.seams.filter((seam) => seam.zone === lane.tz).map((seam) => <i key={seam.at} class="seam" style={{ left: view.left(Date.parse(seam.at)) }} title={seamWords(seam, view.zone)} />)}
      {lane.more && first && <Often lane={lane} view={view} />}
      {!lane.more && lane.runs.map((at) => <Tick key={at} at={Date.parse(at)} view={view} />)}
      {lane.ticks.map((due, n) => <Past key={due} due={Date.parse(due)} fired={Date.parse(lane.fired[n] as string)} view={view} />)}
    </li>
  );
}

function Often({ lane, view }: { lane: Lane; view: View }) {
  const [from, next] = lane.runs.slice(0, 2).map((at) => Date.parse(at)) as [number, number];
  return <i class="often" style={{ left: view.left(Math.max(from, view.since)), width: view.wide(Math.max(from, view.since), view.until) }} title={`again and again, the first ${onWall(from, view.zone)}, the next after ${seconds((next - from) / 1000)}`} />;
}

/** A tick to come; one that should have been is overdue, with a tail to now. */
function Tick({ at, view }: { at: number; view: View }) {
  const overdue = view.now - at;
  return (
    <>
      {overdue > LATE && <i class="tail" style={{ left: view.left(at), width: view.wide(at, view.now) }} title={`overdue for ${seconds(overdue / 1000)}`} />}
      <i class={`tick ${overdue > LATE ? "late" : ""}`} style={{ left: view.left(at) }} title={onWall(at, view.zone)} />
    </>
  );
}

function Past({ due, fired, view }: { due: number; fired: number; view: View }) {
  const by = fired - due;
  return (
    <>
      {by > LATE && <i class="tail" style={{ left: view.left(due), width: view.wide(due, fired) }} />}
      <i class={`tick past ${by > 60_000 ? "late" : ""}`} style={{ left: view.left(due) }} title={`${onWall(due, view.zone)}, fired ${by > LATE ? `${seconds(by / 1000)} late` : "in time"}`} />
    </>
  );
}

/** From the upstream's tick to the tick that waits for it: the nearest one before. */
function Arrows({ view }: { view: View }) {
  const rows = new Map(view.plan.lanes.map((lane, n) => [lane.id, { lane, y: n * ROW + ROW / 2 }]));
  const all = (lane: Lane) => [...lane.ticks, ...lane.runs].map((at) => Date.parse(at)).filter(view.inside).sort((a, b) => a - b);
  const found = view.plan.lanes.filter((lane) => !lane.more).flatMap((lane) => lane.after.flatMap((name) => {
    const up = rows.get(name);
    const down = rows.get(lane.id);
    if (!up || !down || up.lane.more) return [];
    return all(lane).flatMap((to) => {
      const from = all(up.lane).filter((at) => at <= to).at(-1);
      return from === undefined ? [] : [{ from, to, y1: up.y, y2: down.y, what: `${lane.id} waits for ${name}` }];
    });
  }));
  return (
    <svg class="arrows" height={view.plan.lanes.length * ROW} aria-hidden="true">
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
      {found.map((edge) => (
        <line key={`${edge.what} ${edge.to}`} x1={view.left(edge.from)} x2={view.left(edge.to)} y1={edge.y1} y2={edge.y2 + (edge.y1 < edge.y2 ? -8 : 8)} marker-end="url(#tip)"><title>{edge.what}</title></line>
      ))}
    </svg>
  );
}

const seamWords = (seam: Seam, zone: string) =>
  `${seam.zone}: clocks go ${seam.forward > 0 ? "forward" : "back"} ${seconds(Math.abs(seam.forward))}, ${onWall(seam.at, zone)}`;

function Seams({ seams, zone }: { seams: Seam[]; zone: string }) {
  if (!seams.length) return null;
  return <ul class="seams" aria-label="Clock changes">{seams.map((seam) => <li key={`${seam.zone} ${seam.at}`}><span class="mark" aria-hidden="true" />{seamWords(seam, zone)}</li>)}</ul>;
}

export const openSchedule = (id: string) => go(href(`/schedules/${encodeURIComponent(id)}`));
