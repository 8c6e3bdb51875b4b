// One job: why it does not run, its life to scale, and all there is of it.
import type { ComponentChildren } from "preact";
import "../jobs.css";
import { get } from "../lib/api";
import type { JobStory } from "../lib/jobtypes";
import { asText, write } from "../lib/json";
import { useLoad } from "../lib/load";
import { backTo, href, turn, useRoute } from "../lib/route";
import { idIn } from "../lib/search";
import { useWho } from "../lib/session";
import type { Job, TaskInfo } from "../lib/types";
import { seesAll } from "../lib/who";
import { progressed, quoted, short } from "../lib/words";
import { askFor } from "../parts/acts";
import { Copy } from "../parts/copy";
import { Json } from "../parts/data";
import { Missing } from "../parts/missing";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Ago } from "../parts/time";
import { editAndRecover } from "./dead_edit";
import { Errors } from "./job_errors";
import { FlowTree } from "./job_flow";
import { Life } from "./job_life";
import { Logs } from "./job_logs";
import { Done } from "./job_steps";
import { Briefly, WhyBanner } from "./job_why";
import { Notes } from "./notes";

export function JobDetail({ id }: { id: string }) {
  const job = useLoad(() => get<Job>(`/jobs/${encodeURIComponent(id)}`), [id], 3_000);
  return (
    <Shown of={job} missing={() => <NoJob id={id} />}>
      {(data) => <OneJob job={data} again={job.again} />}
    </Shown>
  );
}

function NoJob({ id }: { id: string }) {
  const who = useWho();
  const maybe = [
    idIn(id) ? "It has been deleted, or pruned together with its history: finished jobs are kept for a time only." : "The id has been cut off or mistyped: a whole one has 36 letters.",
    "It was enqueued on another engine, or in another environment, than the one that you look at.",
    ...(seesAll(who) ? [] : [`It is not a job of ${who.owner}, whose jobs you see.`]),
  ];
  return (
    <Missing what="job" id={id} maybe={maybe} command={`penstock job ${quoted(id)}`}>
      <a class="button" href={href("/jobs")}>All jobs</a>
      <a class="button" href={href("/dead-letters")}>Dead letters</a>
    </Missing>
  );
}

function OneJob({ job, again }: { job: Job; again: () => void }) {
  const who = useWho();
  // What has been pruned has a history and no story.
  const story = useLoad(() => (job.state ? get<JobStory>(`/jobs/${job.job_id}/story`) : Promise.resolve(undefined)), [job.job_id, job.updated_at], 5_000);
  return (
    <>
      <div class="head">
        <State of={job.state ?? job.status} />
        <h1 class="clip">{job.task}</h1>
        <code title={job.job_id}>{short(job.job_id)}</code><Copy text={job.job_id} label="Copy id" />
        <span class="grow" />
        {who.may("operate") && <Acts job={job} story={story.data} again={again} />}
      </div>
      {(job.state ?? job.status) !== "completed" && (seesAll(who) ? <WhyBanner job={job} again={again} /> : <Briefly job={job} />)}
      <Facts job={job} story={story.data} />
      <Life job={job} story={story.data} />
      <Tabs job={job} story={story.data} />
    </>
  );
}

function Acts({ job, story, again }: { job: Job; story: JobStory | undefined; again: () => void }) {
  const who = useWho();
  const dead = job.state === "failed" && story?.dead_letter && !story.recovered_as;
  return (
    <>
      {dead && <button type="button" class="primary" onClick={() => askFor("retry", [job], again)}>Retry</button>}
      {dead && who.may("payload") && <button type="button" onClick={() => void editAndRecover(job.job_id, job.task, again)}>Edit and retry…</button>}
      {job.state === "delayed" && <button type="button" class="primary" onClick={() => askFor("promote", [job], again)}>Run now</button>}
      {!job.finished_at && <button type="button" class="danger" onClick={() => askFor("cancel", [job], again)}>Cancel</button>}
      {job.finished_at && job.state && <button type="button" class="danger" onClick={() => askFor("delete", [job], () => backTo("/jobs"))}>Delete</button>}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function Facts({ job, story }: { job: Job; story: JobStory | undefined }) {
  return (
    <section class="card" aria-label="Facts">
      <dl class="facts wide">
        <Fact name="Queue"><a href={href("/jobs", { q: `queue:${job.queue}` })}>{job.queue}</a></Fact>
        <Fact name="Attempts">{job.attempts_made} of {job.max_attempts}</Fact>
        <Fact name="Enqueued"><Ago at={job.created_at} /></Fact>
        <Fact name="Started"><Ago at={job.started_at} /></Fact>
        {job.finished_at && <Fact name="Ended"><Ago at={job.finished_at} /></Fact>}
        {!job.finished_at && job.next_attempt_at && <Fact name="Due"><Ago at={job.next_attempt_at} /></Fact>}
        {story && story.priority !== "medium" && <Fact name="Priority">{story.priority}</Fact>}
        {job.owner && <Fact name="Owner"><a href={href("/jobs", { q: `owner:${quotedWord(job.owner)}` })}>{job.owner}</a></Fact>}
        {job.key && job.key !== job.job_id && <Fact name="Key"><code>{job.key}</code></Fact>}
        {job.tags && job.tags.length > 0 && <Fact name="Tags"><span class="line wrap">{job.tags.map((tag) => <a key={tag} class="chip tag" href={href("/jobs", { q: `tag:${tag}` })}>{tag}</a>)}</span></Fact>}
        {story?.origin && <Fact name="Made by">{story.origin}</Fact>}
        {story?.worker && <Fact name="Worker"><a href={href("/workers", { open: story.worker })}><code title={story.worker}>{short(story.worker)}</code></a></Fact>}
        {story?.expires_at && !job.finished_at && <Fact name="Expires"><Ago at={story.expires_at} /></Fact>}
        {story?.deadline_at && !job.finished_at && <Fact name="Waits until"><Ago at={story.deadline_at} /></Fact>}
        {story?.recovered_from && <Fact name="Recovered from"><JobLink id={story.recovered_from} /></Fact>}
        {story?.recovered_as && <Fact name="Recovered as"><JobLink id={story.recovered_as} /></Fact>}
        {story?.note && !job.finished_at && <Fact name="Note">{story.note}</Fact>}
        {job.error && !(story && job.finished_at) && <Fact name="Error">{job.error}</Fact>}
      </dl>
      {job.progress && job.state !== "completed" && (
        <div class="stack tight">
          <progress max={100} value={job.progress.percent ?? 0} aria-label="Progress" />
          <span class="muted">{progressed(job.progress)}</span>
        </div>
      )}
    </section>
  );
}

const quotedWord = (text: string): string => (/\s/.test(text) ? `"${text.replaceAll('"', "")}"` : text);

export function JobLink({ id }: { id: string }) {
  return <a href={href(`/jobs/${id}`)}><code title={id}>{short(id)}</code></a>;
}

interface Tab { id: string; name: string; n?: number; body: () => ComponentChildren }

function Tabs({ job, story }: { job: Job; story: JobStory | undefined }) {
  const kept = useRoute().query.get("tab");
  const done = story ? Object.keys(story.steps).length + story.effects.length : 0;
  const tabs: Tab[] = [
    { id: "arguments", name: "Arguments", body: () => <Given job={job} /> },
    { id: "result", name: "Result", body: () => <Result job={job} /> },
    { id: "errors", name: "Errors", n: story?.errors.length, body: () => <Wrong job={job} story={story} /> },
    { id: "logs", name: "Logs", body: () => <Logs story={story} /> },
    { id: "steps", name: "Steps and effects", n: done, body: () => <Done story={story} /> },
    { id: "flow", name: "Flow", body: () => <FlowTree job={job} story={story} /> },
  ];
  const first = job.state === "failed" || (job.error && !job.finished_at) ? "errors" : "arguments";
  const open = tabs.find((tab) => tab.id === (kept ?? first)) ?? (tabs[0] as Tab);
  const step = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = by ? tabs[(tabs.indexOf(open) + by + tabs.length) % tabs.length] : undefined;
    if (!next) return;
    turn({ tab: next.id }, true);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <section class="stack" aria-label="All there is of it">
      <div class="tabs" role="tablist" onKeyDown={step}>
        {tabs.map((tab) => (
          <button key={tab.id} id={`tab-${tab.id}`} type="button" role="tab" aria-selected={tab === open} aria-controls="panel" tabIndex={tab === open ? 0 : -1}
            onClick={() => turn({ tab: tab.id }, true)}>{tab.name}{tab.n ? <span class="n">{tab.n}</span> : null}</button>
        ))}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${open.id}`}>{open.body()}</div>
    </section>
  );
}

function Wrong({ job, story }: { job: Job; story: JobStory | undefined }) {
  return (
    <div class="stack">
      {!story?.errors.length && job.error ? <p class="card words"><strong>{job.error}</strong></p> : <Errors errors={story?.errors ?? []} />}
      {story?.dead_letter && <Notes at={`/dead-letters/${job.job_id}/notes`} about="this dead letter" />}
    </div>
  );
}

function noneGiven(task: TaskInfo | undefined): string {
  if (!task) return "No arguments were given";
  return Object.keys(task.payload.properties ?? {}).length ? "None were given: the task's defaults stand" : "It takes no arguments";
}

function Given({ job }: { job: Job }) {
  const who = useWho();
  const task = useLoad(() => get<TaskInfo & { secret: string[] }>(`/tasks/${encodeURIComponent(job.task)}`).catch(() => undefined), [job.task], 300_000);
  if (!who.may("payload")) return <Empty title="Not shown to you" text="Arguments need a token with the scope payload." command="penstock token create NAME --scope read --scope payload --owner '*'" />;
  const given = job.payload;
  if (!given || typeof given !== "object" || !Object.keys(given).length) return <Empty title={noneGiven(task.data)} />;
  const hidden = new Set(task.data?.secret ?? []);
  return (
    <div class="stack tight">
      <dl class="facts args">
        {Object.entries(given).map(([name, value]) => (
          <Fact key={name} name={name}>{hidden.has(name) && value === "•••" ? <span class="pill">hidden: declared secret</span> : <code>{asText(value, 2)}</code>}</Fact>
        ))}
      </dl>
      <div><Copy text={write(given)} label="Copy as JSON" /></div>
    </div>
  );
}

function Result({ job }: { job: Job }) {
  if (job.result !== undefined && job.result !== null) return <Json of={job.result} />;
  if (!job.finished_at) return <Empty title="No result yet" text="What the handler returns is kept here." />;
  return <Empty title="No result" text={job.result === undefined ? "Results of others need a token with the scope payload." : "The handler returned nothing."} />;
}
