import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Job, Story, WhyView } from "../lib/types";
import { seconds, short } from "../lib/words";
import { askFor } from "../parts/acts";
import { Command, Copy } from "../parts/copy";
import { Json, Trace } from "../parts/data";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Ago } from "../parts/time";

export function JobDetail({ id }: { id: string }) {
  const job = useLoad(() => get<Job>(`/jobs/${encodeURIComponent(id)}`), [id], 3_000);
  return <Shown of={job}>{(data) => <OneJob job={data} again={job.again} />}</Shown>;
}

function OneJob({ job, again }: { job: Job; again: () => void }) {
  const who = useWho();
  const story = useLoad(() => get<Story>(`/jobs/${job.job_id}/story`), [job.job_id, job.updated_at], 5_000);
  return (
    <>
      <div class="head">
        <State of={job.state ?? job.status} />
        <h1 class="clip">{job.task}</h1>
        <code>{short(job.job_id)}</code><Copy text={job.job_id} label="Copy id" />
        <span class="grow" />
        {who.may("operate") && <Acts job={job} again={again} />}
      </div>
      {!job.finished_at && <WhyBanner job={job} />}
      <section class="card">
        <dl class="facts">
          <dt>Queue</dt><dd><a href={href("/jobs", { q: `queue:${job.queue}` })}>{job.queue}</a></dd>
          <dt>Attempts</dt><dd>{job.attempts_made} of {job.max_attempts}</dd>
          <dt>Enqueued</dt><dd><Ago at={job.created_at} /></dd>
          <dt>Started</dt><dd><Ago at={job.started_at} /></dd>
          {job.finished_at ? <><dt>Ended</dt><dd><Ago at={job.finished_at} /></dd></> : job.next_attempt_at && <><dt>Due</dt><dd><Ago at={job.next_attempt_at} /></dd></>}
          {job.owner && <><dt>Owner</dt><dd>{job.owner}</dd></>}
          {job.key && job.key !== job.job_id && <><dt>Key</dt><dd><code>{job.key}</code></dd></>}
          {story.data?.origin && <><dt>Made by</dt><dd>{story.data.origin}</dd></>}
          {story.data?.worker && <><dt>Worker</dt><dd>{story.data.worker}</dd></>}
          {job.progress && <><dt>Progress</dt><dd>{job.progress.percent} % {job.progress.message}</dd></>}
          {job.error && <><dt>Error</dt><dd>{job.error}</dd></>}
        </dl>
      </section>
      <Life job={job} />
      <Tabs job={job} story={story.data} />
    </>
  );
}

function Acts({ job, again }: { job: Job; again: () => void }) {
  const state = job.state ?? job.status;
  return (
    <>
      {(state === "failed" || state === "delayed") && <button type="button" class="primary" onClick={() => askFor("retry", [job], again)}>{state === "failed" ? "Retry" : "Run now"}</button>}
      {!job.finished_at && <button type="button" class="danger" onClick={() => askFor("cancel", [job], again)}>Cancel</button>}
    </>
  );
}

function WhyBanner({ job }: { job: Job }) {
  const why = useLoad(() => get<WhyView>(`/jobs/${job.job_id}/why`), [job.job_id, job.updated_at], 3_000);
  const first = why.data?.causes[0];
  if (!first || job.state === "active") return null;
  return (
    <div class="banner" role="status">
      <span class="grow"><strong>Why is it not running?</strong> {first.text}</span>
      {first.next && <Command text={first.next} />}
    </div>
  );
}

/** Its life to scale: waiting, runs and the time between them. */
function Life({ job }: { job: Job }) {
  const from = Date.parse(job.created_at);
  const to = job.finished_at ? Date.parse(job.finished_at) : Date.now();
  const started = job.started_at ? Date.parse(job.started_at) : to;
  const whole = Math.max(to - from, 1);
  const kind = job.status === "failed" ? "bad" : job.status === "completed" ? "ok" : "run";
  const parts: [string, number, string][] = [["wait", started - from, "waited"], [kind, to - started, "from its first start"]];
  const label = parts.filter(([, ms]) => ms > 0).map(([, ms, word]) => `${word} ${seconds(ms / 1000)}`).join(", ");
  return (
    <section class="stack tight" aria-label="Its life">
      <div class="life" role="img" aria-label={label}>
        {parts.map(([name, ms]) => ms > 0 && <span key={name} class={name} style={{ width: `${(ms / whole) * 100}%` }} />)}
      </div>
      <p class="muted">{label}</p>
    </section>
  );
}

function Tabs({ job, story }: { job: Job; story: Story | undefined }) {
  const tabs: [string, ComponentChildren][] = [
    ["Arguments", job.payload === undefined ? <Empty title="Not shown to you" text="Arguments need a token with the scope payload." /> : <Json of={job.payload} />],
    ["Result", job.result === undefined || job.result === null ? <Empty title="No result" /> : <Json of={job.result} />],
    [`Errors${story?.errors.length ? ` (${story.errors.length})` : ""}`, <Errors story={story} />],
    ["Steps", story && Object.keys(story.steps).length ? <Json of={story.steps} /> : <Empty title="No steps" text="ctx.step() keeps what a run has done, so that a retry does not do it again." />],
    ["Flow", <Flow story={story} />],
  ];
  const [open, set] = useState(job.error ? 2 : 0);
  return (
    <section class="stack">
      <div class="tabs" role="tablist">
        {tabs.map(([name], n) => <button key={n} type="button" role="tab" aria-selected={n === open} onClick={() => set(n)}>{name}</button>)}
      </div>
      <div role="tabpanel">{tabs[open]?.[1]}</div>
    </section>
  );
}

function Errors({ story }: { story: Story | undefined }) {
  if (!story?.errors.length) return <Empty title="No errors" />;
  return (
    <div class="stack">
      {story.errors.map((error, n) => (
        <div key={n} class="card stack tight">
          <span class="line"><strong class="grow">{error.type}: {error.message}</strong>{error.at && <Ago at={error.at} />}</span>
          <span class="muted">attempt {error.attempt ?? n + 1}{error.class ? ` · ${error.class}` : ""}{error.code ? ` · ${error.code}` : ""}</span>
          {error.traceback && <Trace text={error.traceback} />}
        </div>
      ))}
    </div>
  );
}

function Flow({ story }: { story: Story | undefined }) {
  if (!story?.flow && !story?.after.length) return <Empty title="It stands alone" text="Jobs of a flow, and those that wait for others, are drawn here." />;
  return (
    <div class="stack tight">
      {story.after.map((id) => (
        <span key={id} class="line">after <a href={href(`/jobs/${id}`)}><code>{short(id)}</code></a>{story.blocked_by.includes(id) ? <span class="pill warn">still to end</span> : <span class="pill good">ended</span>}</span>
      ))}
      {story.tree && <pre class="json">{story.tree}</pre>}
    </div>
  );
}
