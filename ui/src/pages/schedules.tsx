import { get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Schedule, ScheduleDetail as Detail } from "../lib/types";
import { exactly, quoted, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell } from "../parts/toast";

const DAY = 86_400_000;

export function Schedules() {
  const who = useWho();
  const all = useLoad(() => get<{ schedules: Schedule[] }>("/schedules"), [], 10_000);
  return (
    <>
      <div class="head"><h1>Schedules</h1></div>
      <Shown of={all}>
        {(data) => data.schedules.length
          ? <>
              <Band schedules={data.schedules} />
              <Table label="Schedules" rows={data.schedules} keyOf={(s) => s.id} columns={columns(who.may("operate"), all.again)} />
            </>
          : <Empty title="No schedules" text={'app.schedule("nightly", task, cron="0 3 * * *") declares one.'} />}
      </Shown>
    </>
  );
}

const timing = (s: Schedule) => s.cron ? `${s.cron} ${s.tz ?? ""}` : s.every ? `every ${seconds(s.every)}` : "–";

function columns(mayAct: boolean, done: () => void): Column<Schedule>[] {
  return [
    { name: "Schedule", show: (s) => <a href={href(`/schedules/${encodeURIComponent(s.id)}`)}>{s.id}</a> },
    { name: "Task", show: (s) => s.task ?? <span class="muted">unreadable</span> },
    { name: "When", show: (s) => <code>{timing(s)}</code> },
    { name: "Is", show: (s) => s.paused ? <span class="pill warn">paused</span> : s.synced ? <span class="muted">going</span> : <span class="pill" title="It comes with the first worker">not synced</span> },
    { name: "Next", show: (s) => <Ago at={s.next_at} /> },
    { name: "Last", show: (s) => s.last_job ? <a href={href(`/jobs/${s.last_job}`)}><Ago at={s.last_due} /></a> : <Ago at={s.last_due} /> },
    { name: "After", show: (s) => s.after.length ? s.after.join(", ") : <span class="muted">–</span> },
    { name: "", show: (s) => mayAct && (
      <>
        <button type="button" class="small" onClick={() => fire(s, done)}>Fire now</button>
        <button type="button" class="small" onClick={() => turnSchedule(s, done)}>{s.paused ? "Resume" : "Pause"}</button>
      </>
    ) },
  ];
}

/** The next 24 hours: a lane for each schedule, a mark for each tick. */
function Band({ schedules }: { schedules: Schedule[] }) {
  const details = useLoad(
    () => Promise.all(schedules.slice(0, 20).map((s) => get<Detail>(`/schedules/${encodeURIComponent(s.id)}`))),
    [schedules.map((s) => s.id).join()], 60_000,
  );
  const from = Date.now();
  const place = (at: string) => ((Date.parse(at) - from) / DAY) * 100;
  return (
    <section class="band" aria-label="The next 24 hours">
      <div class="hours">
        {[0, 6, 12, 18, 24].map((hours) => (
          <span key={hours} class="hour" style={{ left: `${(hours / 24) * 100}%` }}>
            {new Date(from + hours * 3_600_000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}
          </span>
        ))}
      </div>
      {(details.data ?? []).map((one) => (
        <div key={one.id} class="lane">
          <span class="who clip" title={one.id}>{one.id}</span>
          {one.runs.filter((run) => place(run.at) <= 100).map((run) => (
            <i key={run.at} class="tick" title={`${exactly(run.at)}${run.note ? ` · ${run.note}` : ""}`} style={{ left: `${place(run.at)}%` }} />
          ))}
        </div>
      ))}
    </section>
  );
}

export function ScheduleDetail({ id }: { id: string }) {
  const who = useWho();
  const one = useLoad(() => get<Detail>(`/schedules/${encodeURIComponent(id)}`), [id]);
  return (
    <Shown of={one}>
      {(data) => (
        <>
          <div class="head">
            <h1 class="grow">{data.id}</h1>
            {who.may("operate") && <>
              <button type="button" onClick={() => fire(data, one.again)}>Fire now</button>
              <button type="button" onClick={() => turnSchedule(data, one.again)}>{data.paused ? "Resume" : "Pause"}</button>
            </>}
          </div>
          <section class="card"><dl class="facts">
            <dt>Task</dt><dd>{data.task ? <a href={href(`/tasks/${encodeURIComponent(data.task)}`)}>{data.task}</a> : "unreadable"}</dd>
            <dt>When</dt><dd><code>{timing(data)}</code></dd>
            <dt>While the last one runs</dt><dd>{data.overlap ?? "–"}</dd>
            <dt>Missed ticks</dt><dd>{data.missed ?? "–"}</dd>
            <dt>After</dt><dd>{data.after.join(", ") || "–"}</dd>
          </dl></section>
          <h2>The next runs</h2>
          <Table label="The next runs" rows={data.runs} keyOf={(r) => r.at} columns={[
            { name: "In its zone", show: (r) => r.there.replace("T", " ") },
            { name: "UTC", show: (r) => r.at.replace("T", " ").replace(/(\+00:00|Z)$/, "") },
            { name: "In", show: (r) => <Ago at={r.at} /> },
            { name: "Note", show: (r) => r.note ? <span class="pill warn">{r.note}</span> : "" },
          ]} />
          <h2>The last ticks</h2>
          {data.ticks.length ? <Table label="The last ticks" rows={data.ticks} keyOf={(t) => t.due} columns={[
            { name: "Due", show: (t) => <Ago at={t.due} /> },
            { name: "Late by", num: true, show: (t) => seconds(Math.max(0, (Date.parse(t.fired_at) - Date.parse(t.due)) / 1000)) },
            { name: "Job", show: (t) => t.job_id ? <a href={href(`/jobs/${t.job_id}`)}><code>{short(t.job_id)}</code></a> : <span class="muted">none</span> },
            { name: "Note", show: (t) => t.note ?? "" },
          ]} /> : <Empty title="It has not fired yet" />}
        </>
      )}
    </Shown>
  );
}

function fire(schedule: Schedule, done: () => void): void {
  ask({
    title: `Fire ${schedule.id} now?`, body: <p>One more run, now; its next tick stays as it is.</p>, action: "Fire now",
    command: `penstock schedules fire ${quoted(schedule.id)}`,
    act: async (reason) => {
      const made = await post<{ job_id: string }>(`/schedules/${encodeURIComponent(schedule.id)}/fire`, { reason: reason || null });
      tell(`Fired as ${made.job_id}`);
      done();
    },
  });
}

function turnSchedule(schedule: Schedule, done: () => void): void {
  const verb = schedule.paused ? "resume" : "pause";
  ask({
    title: schedule.paused ? `Let ${schedule.id} fire again?` : `Stop ${schedule.id} from firing?`, action: schedule.paused ? "Resume" : "Pause",
    command: `penstock schedules ${verb} ${quoted(schedule.id)}`,
    act: async (reason) => {
      await post(`/schedules/${encodeURIComponent(schedule.id)}/${verb}`, { reason: reason || null });
      tell(`${schedule.id} is ${schedule.paused ? "going again" : "paused"}`);
      done();
    },
  });
}
