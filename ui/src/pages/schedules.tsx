import { get, post } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad } from "../lib/load";
import { href, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Lane, Plan } from "../lib/sights";
import type { Schedule, ScheduleDetail as Detail, Tick } from "../lib/types";
import { exactly, quoted, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Spark } from "../parts/chart";
import { Missing } from "../parts/missing";
import { QueueName } from "../parts/queue";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell, tellOfJob } from "../parts/toast";
import { Band, openSchedule } from "./band";

export function Schedules() {
  const who = useWho();
  const { query } = useRoute();
  const [span, since] = [query.get("span") === "week" ? "week" : "day", query.get("since") ?? undefined];
  const all = useLoad(() => get<{ schedules: Schedule[] }>("/schedules"), [], 10_000, false);
  const plan = useLoad(() => get<Plan>("/timetable", { span, since }), [span, since], 15_000, false);
  const rows = all.data?.schedules ?? [];
  const cursor = useCursor(rows.length, (n) => openSchedule(rows[n]?.id ?? ""));
  const lanes = new Map(plan.data?.lanes.map((lane) => [lane.id, lane]));
  const again = () => (all.again(), plan.again());
  return (
    <>
      <div class="head"><h1>Schedules</h1></div>
      <Shown of={all}>
        {(data) => data.schedules.length
          ? <>
              <Shown of={plan}>{(planned) => <Band plan={planned} />}</Shown>
              <Table label="Schedules" rows={data.schedules} cursor={cursor} keyOf={(s) => s.id} columns={columns(lanes, who.may("operate"), again)} />
            </>
          : <Empty title="No schedules" text={'app.schedule("nightly", task, cron="0 3 * * *", tz="Europe/Berlin") declares one; it comes with the next worker.'} command="penstock schedules" />}
      </Shown>
    </>
  );
}

const BY_HAND = "fired by hand"; // as the service says of runs that are no ticks
const timing = (s: Schedule) => s.cron ? `${s.cron} ${s.tz ?? ""}` : s.every ? `every ${seconds(s.every)}` : "–";
const lateBy = (tick: Tick) => Math.max(0, (Date.parse(tick.fired_at) - Date.parse(tick.due)) / 1000);

function columns(lanes: Map<string, Lane>, mayAct: boolean, done: () => void): Column<Schedule>[] {
  const last = (s: Schedule) => lanes.get(s.id)?.last;
  return [
    { name: "Schedule", show: (s) => <a href={href(`/schedules/${encodeURIComponent(s.id)}`)}>{s.id}</a> },
    { name: "Task", show: (s) => s.task ? <a href={href(`/tasks/${encodeURIComponent(s.task)}`)}>{s.task}</a> : <span class="muted">unreadable</span> },
    { name: "When", show: (s) => <code title={s.tz ?? undefined}>{timing(s)}</code> },
    { name: "Next", show: (s) => s.paused || !s.synced ? <Standing of={s} /> : <Ago at={s.next_at} /> },
    { name: "Last", show: (s) => s.last_job ? <a href={href(`/jobs/${s.last_job}`)}><Ago at={s.last_due} /></a> : <Ago at={s.last_due} /> },
    { name: "Result", show: (s) => <Result tick={last(s)} /> },
    { name: "Late by", num: true, show: (s) => <Late tick={last(s)} /> },
    { name: "", show: (s) => mayAct && (
      <>
        <button type="button" class="small" onClick={() => fire(s, done)}>Fire now</button>
        <button type="button" class="small" onClick={() => turnSchedule(s, done)}>{s.paused ? "Resume" : "Pause"}</button>
      </>
    ) },
  ];
}

function Standing({ of }: { of: Schedule }) {
  if (of.paused) return <span class="pill warn">paused</span>;
  return of.synced ? <span class="muted">going</span> : <span class="pill" title="It comes with the first worker">not synced</span>;
}

function Result({ tick }: { tick: Tick | null | undefined }) {
  if (!tick) return <span class="muted">–</span>;
  if (tick.state) return <State of={tick.state} />;
  return <span class="muted" title={tick.note ?? undefined}>{tick.note && tick.note !== BY_HAND ? "let pass" : tick.job_id ? "no record" : "none"}</span>;
}

function Late({ tick }: { tick: Tick | null | undefined }) {
  if (!tick) return <span class="muted">–</span>;
  const by = lateBy(tick);
  return by > 60 ? <span class="state failed">✕ {seconds(by)}</span> : <span class="muted">{by < 1 ? "in time" : seconds(by)}</span>;
}

function NoSchedule({ id }: { id: string }) {
  const maybe = ["It has been taken out of the app, and with it from here.", "It is declared, but no worker with that declaration has started yet, and this service runs an older one.", "Its name has been mistyped."];
  return (
    <Missing what="schedule" id={id} maybe={maybe} command="penstock schedules">
      <a class="button" href={href("/schedules")}>All schedules</a>
      <a class="button" href={href("/workers")}>Workers</a>
    </Missing>
  );
}

export function ScheduleDetail({ id }: { id: string }) {
  const who = useWho();
  const one = useLoad(() => get<Detail>(`/schedules/${encodeURIComponent(id)}`), [id], 10_000);
  return (
    <Shown of={one} missing={() => <NoSchedule id={id} />}>
      {(data) => (
        <>
          <div class="head">
            <h1 class="grow">{data.id}</h1>
            <Standing of={data} />
            {who.may("operate") && <>
              <button type="button" onClick={() => fire(data, one.again)}>Fire now</button>
              <button type="button" onClick={() => turnSchedule(data, one.again)}>{data.paused ? "Resume" : "Pause"}</button>
            </>}
          </div>
          <section class="card"><dl class="facts">
            <dt>Task</dt><dd>{data.task ? <a href={href(`/tasks/${encodeURIComponent(data.task)}`)}>{data.task}</a> : "unreadable"}</dd>
            <dt>Queue</dt><dd>{data.queue ? <QueueName name={data.queue} /> : "–"}</dd>
            <dt>When</dt><dd><code>{timing(data)}</code></dd>
            <dt>While the last one runs</dt><dd>{OVERLAP[data.overlap ?? ""] ?? data.overlap ?? "–"}</dd>
            <dt>Missed ticks</dt><dd>{MISSED[data.missed ?? ""] ?? data.missed ?? "–"}</dd>
            <dt>Waits for</dt><dd>{data.after.length ? data.after.map((name, n) => [n ? ", " : "", <a key={name} href={href(`/schedules/${encodeURIComponent(name)}`)}>{name}</a>]) : "nobody"}</dd>
          </dl></section>
          <h2>The next runs</h2>
          {data.runs.length ? <NextRuns of={data} /> : <Empty title={data.paused ? "It is paused" : "It does not run again"} command={data.paused ? `penstock schedules resume ${quoted(data.id)}` : undefined} />}
          <div class="head">
            <h2 class="grow">What it has fired</h2>
            {data.ticks.length > 1 && <Spark values={data.ticks.filter((t) => t.note !== BY_HAND).map(lateBy).reverse()} label="How late the last ticks were" colour="--blocked" />}
          </div>
          {data.ticks.length ? <Table label="What it has fired" rows={data.ticks} keyOf={(t) => t.job_id ?? t.due} columns={[
            { name: "Due", show: (t) => <Ago at={t.due} /> },
            { name: "Late by", num: true, show: (t) => <Late tick={t.note === BY_HAND ? null : t} /> },
            { name: "Job", show: (t) => t.job_id ? <a href={href(`/jobs/${t.job_id}`)}><code>{short(t.job_id)}</code></a> : <span class="muted">none</span> },
            { name: "Result", show: (t) => <Result tick={t} /> },
            { name: "Note", show: (t) => t.note ?? "" },
          ]} /> : <Empty title="No tick has fired yet" text="To see what it does, fire it once; such runs are told here for a week." command={`penstock schedules fire ${quoted(data.id)}`} />}
        </>
      )}
    </Shown>
  );
}

/** With seconds, where it runs at others than those of a full minute. */
function NextRuns({ of: { runs, tz } }: { of: Detail }) {
  const bySecond = runs.some((run) => !/T\d\d:\d\d:00/.test(run.at));
  const onTheClock = (at: string) => at.slice(0, bySecond ? 19 : 16).replace("T", " ");
  return (
    <Table label="The next runs" rows={runs} keyOf={(r) => r.at} columns={[
      { name: "In its zone", show: (r) => <span title={tz ?? "UTC"}>{onTheClock(r.there)}</span> },
      { name: "Yours", show: (r) => <time dateTime={r.at} title={exactly(r.at)}>{new Date(r.at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: bySecond ? "medium" : "short" })}</time> },
      { name: "UTC", show: (r) => onTheClock(r.at) },
      { name: "In", show: (r) => <Ago at={r.at} /> },
      { name: "Note", show: (r) => r.note ? <span class="pill warn">{r.note}</span> : "" },
    ]} />
  );
}

const OVERLAP: Record<string, string> = { allow: "the next runs beside it", skip: "the tick is let pass", queue: "the next waits for it" };
const MISSED: Record<string, string> = { skip: "are left out", once: "are made up for by one run", all: "are all made up for" };

function fire(schedule: Schedule, done: () => void): void {
  ask({
    title: `Fire ${schedule.id} now?`, body: <p>One more run, now; its next tick stays as it is.</p>, action: "Fire now",
    command: `penstock schedules fire ${quoted(schedule.id)}`,
    act: async (reason) => {
      const made = await post<{ job_id: string }>(`/schedules/${encodeURIComponent(schedule.id)}/fire`, { reason: reason || null });
      tellOfJob("Fired as", made.job_id);
      done();
    },
  });
}

function turnSchedule(schedule: Schedule, done: () => void): void {
  const verb = schedule.paused ? "resume" : "pause";
  ask({
    title: schedule.paused ? `Let ${schedule.id} fire again?` : `Stop ${schedule.id} from firing?`, action: schedule.paused ? "Resume" : "Pause",
    body: <p>{schedule.paused ? "It goes on with the first tick after now; what fell into the pause is left out." : "Jobs that are there go on."}</p>,
    command: `penstock schedules ${verb} ${quoted(schedule.id)}`,
    act: async (reason) => {
      await post(`/schedules/${encodeURIComponent(schedule.id)}/${verb}`, { reason: reason || null });
      tell(`${schedule.id} is ${schedule.paused ? "going again" : "paused"}`);
      done();
    },
  });
}
