// Jobs: found by one search that the URL keeps, chosen one by one or all that match.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import "../jobs.css";
import { get } from "../lib/api";
import { useKeyset, type Keyset } from "../lib/keyset";
import type { Act } from "../lib/jobtypes";
import { useListKeys } from "../lib/keys";
import { useLoad } from "../lib/load";
import { usePlaced } from "../lib/place";
import { go, href, turn, useRoute } from "../lib/route";
import { asked, parse, STATES, without, words, type Search } from "../lib/search";
import { useWho } from "../lib/session";
import type { Job, Queue } from "../lib/types";
import { count, progressed, short } from "../lib/words";
import { askFor, WORDS } from "../parts/acts";
import { FreshRows, Told } from "../parts/fresh";
import { Arguments, Took } from "../parts/jobcells";
import { Empty } from "../parts/shown";
import { State } from "../parts/state";
import { Age } from "../parts/time";
import { Windowed, type Col } from "../parts/windowed";
import { actsFor, AllMatching } from "./matching";

export { Pager } from "../parts/pager";

export function Jobs() {
  const { query, entry } = useRoute();
  const text = query.get("q") ?? "";
  const search = useMemo(() => parse(text), [text]);
  const list = useKeyset<Job>("/jobs", "jobs", asked(search));
  const [acting, act] = useState<Act>();
  const who = useWho();
  return (
    <>
      <div class="head">
        <h1 class="grow">Jobs</h1>
        <StateFilter text={text} search={search} />
      </div>
      <Understood text={text} unknown={search.unknown} />
      {list.error && <Refused list={list} search={search} />}
      {search.unknown.length > 0
        ? <Empty title="Not all of this is understood" text={`Nothing is listed, for it would not be what you asked for. Mend or take away: ${search.unknown.join(" ")}`} />
        : <List key={entry} list={list} text={text} all={who.may("operate") ? <AllButtons search={search} act={act} /> : null} />}
      {acting && <AllMatching key={acting} act={acting} search={search} close={() => act(undefined)} done={list.again} />}
    </>
  );
}

/** What is refused for what it asks is refused again: there, only what to change is of use. */
function Refused({ list, search }: { list: Keyset<Job>; search: Search }) {
  const lacksTask = Object.keys(search.args).length > 0 && !search.query.task;
  const fields = list.error?.fields.map((f) => `${f.field}: ${f.problem}`).filter((line) => !line.includes(list.error?.message ?? "")) ?? [];
  return (
    <div class="banner bad" role="alert">
      <span class="grow">{[list.error?.message, ...fields].join(" · ")}{lacksTask && <>. Add <code>task:NAME</code> to the search.</>}</span>
      {list.error?.status !== 400 && <button type="button" class="small" onClick={list.again}>Try again</button>}
    </div>
  );
}

/** The counts that the engine keeps; none where the search asks for more than a queue and a state. */
function useCounts(search: Search): Record<string, number> | undefined {
  const who = useWho();
  const all = who.may("admin") || who.owner === "*";
  const kept = all && !Object.keys(search.args).length && Object.keys(search.query).every((name) => name === "queue" || name === "state");
  const queues = useLoad(() => (kept ? get<{ queues: Queue[] }>("/queues") : Promise.resolve(undefined)), [kept]);
  if (!kept || !queues.data) return undefined;
  const wanted = queues.data.queues.filter((queue) => !search.query.queue || queue.name === search.query.queue);
  return Object.fromEntries(STATES.map((state) => [state, wanted.reduce((sum, queue) => sum + (queue.counts[state] ?? 0), 0)]));
}

function StateFilter({ text, search }: { text: string; search: Search }) {
  const counts = useCounts(search);
  const chosen = search.query.state;
  const choose = (state: string | undefined) => {
    const rest = words(text).filter((word) => !word.startsWith("state:"));
    turn({ q: [...(state ? [`state:${state}`] : []), ...rest].join(" ") });
  };
  return (
    <div class="segments" role="group" aria-label="State">
      <button type="button" aria-pressed={!chosen} onClick={() => choose(undefined)}>all</button>
      {STATES.map((state) => (
        <button key={state} type="button" aria-pressed={state === chosen} onClick={() => choose(state)}>
          {state}{counts && <span class="n">{count(counts[state] ?? 0)}</span>}
        </button>
      ))}
    </div>
  );
}

function Understood({ text, unknown }: { text: string; unknown: string[] }) {
  if (!text) return null;
  return (
    <div class="chips" aria-label="What the search has understood" role="group">
      {words(text).map((word) => (
        <span key={word} class={`chip ${unknown.includes(word) ? "odd" : ""}`}>
          {unknown.includes(word) ? `not understood: ${word}` : word}
          <button type="button" aria-label={`Without ${word}`} onClick={() => turn({ q: without(text, word) })}>×</button>
        </span>
      ))}
      {unknown.length > 0 && <a href={href("/help")}>What can be searched for</a>}
    </div>
  );
}

function AllButtons({ search, act }: { search: Search; act: (act: Act) => void }) {
  return (
    <span class="line wrap" role="group" aria-label="All that match">
      <span class="muted">All that match:</span>
      {actsFor(search.query.state).map((each) => (
        <button key={each} type="button" class={`small ${each === "cancel" || each === "delete" ? "danger" : ""}`} onClick={() => act(each)}>{WORDS[each].title}…</button>
      ))}
    </span>
  );
}

function List({ list, text, all }: { list: Keyset<Job>; text: string; all: ComponentChildren }) {
  const who = useWho();
  const mayAct = who.may("operate");
  const [cursor, setCursor] = usePlaced<string | undefined>("cursor", undefined);
  const [chosen, setChosen] = usePlaced<ReadonlySet<string>>("chosen", new Set());
  const toggle = (id: string) => setChosen((before) => {
    const next = new Set(before);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  const payload = who.may("payload");
  const latest = useRef(list.rows);
  latest.current = list.rows;
  const every = chosen.size > 0 && list.rows.every((job) => chosen.has(job.job_id));
  const shown = useMemo(() => {
    const toggleAll = () => setChosen(every ? new Set() : new Set(latest.current.map((job) => job.job_id)));
    return columns(mayAct, payload, chosen, toggle, every, toggleAll);
  }, [mayAct, payload, chosen, every]);
  useListKeys((key) => {
    const at = list.rows.findIndex((job) => job.job_id === cursor);
    if (key === "j") setCursor(list.rows[Math.min(at + 1, list.rows.length - 1)]?.job_id);
    if (key === "k") setCursor(list.rows[Math.max(at - 1, 0)]?.job_id);
    if (key === "o" && cursor) go(href(`/jobs/${cursor}`));
    if (key === "x" && cursor && mayAct) toggle(cursor);
  });
  if (!list.loaded) return list.error ? null : <p class="muted" role="status">Loading…</p>;
  if (!list.rows.length && !list.next) return <Nothing text={text} />;
  const rows = list.rows.filter((job) => chosen.has(job.job_id));
  const done = () => (setChosen(new Set()), list.again());
  const foot = (
    <div class="pager">
      <Told of={list} one="job" many="jobs" />
      <span class="grow" />
      {list.next && (list.paused
        ? <><span>Looked far, and found nothing more yet.</span><button type="button" class="small" onClick={list.more}>Look further</button></>
        : <span role="status">Loading more…</span>)}
    </div>
  );
  return (
    <div class="stack tight">
      <div class="toolbar">
        {rows.length > 0 ? <ChosenActs rows={rows} none={() => setChosen(new Set())} done={done} /> : all}
        {/(^| )state:failed( |$)/.test(text) && !text.includes("recovered:") && <a href={href("/jobs", { q: `${text} recovered:no` })}>Only those not recovered yet</a>}
        <span class="grow" />
        <span class="muted keys"><kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open{mayAct && <> · <kbd>x</kbd> choose</>} · <kbd>/</kbd> search</span>
      </div>
      <FreshRows of={list} />
      <Windowed label="Jobs" rows={list.rows} keyOf={(job) => job.job_id} cursor={cursor} looking={list.looking} hold={list.hold} foot={foot}
        columns={shown} />
    </div>
  );
}

function ChosenActs({ rows, none, done }: { rows: Job[]; none: () => void; done: () => void }) {
  const acts: Act[] = (["retry", "promote", "cancel", "delete"] as const).filter((act) => rows.some((job) => actsFor(job.state ?? job.status).includes(act)));
  return (
    <span class="line wrap" role="group" aria-label="Chosen jobs">
      <strong>{count(rows.length)} chosen</strong>
      {acts.map((act) => (
        <button key={act} type="button" class={`small ${act === "cancel" || act === "delete" ? "danger" : ""}`} onClick={() => askFor(act, rows, done)}>{WORDS[act].title}</button>
      ))}
      <button type="button" class="small plain" onClick={none}>Choose none</button>
    </span>
  );
}

function Nothing({ text }: { text: string }) {
  return text
    ? <Empty title="No job matches" text="Take away one of the words above. Jobs that ended long ago may have been pruned: the history still has them." command="penstock history" />
    : <Empty title="No jobs yet" text="Enqueue one from the page of a task, or see jobs flow, fail and be recovered:" command="penstock demo" />;
}

function columns(mayAct: boolean, payload: boolean, chosen: ReadonlySet<string>, toggle: (id: string) => void, every: boolean, toggleAll: () => void): Col<Job>[] {
  const box: Col<Job> = {
    name: "box", kind: "box", width: 40,
    head: <input type="checkbox" aria-label="Choose all shown" title="Choose all that are loaded" checked={every} onChange={toggleAll} />,
    show: (job) => <input type="checkbox" aria-label={`Choose ${job.job_id}`} checked={chosen.has(job.job_id)} onChange={() => toggle(job.job_id)} />,
  };
  return [
    ...(mayAct ? [box] : []),
    { name: "State", width: 130, show: (job) => <><State of={job.state ?? job.status} />{job.recovered_as && <Recovered as={job.recovered_as} />}</> },
    { name: "Task", width: 144, show: (job) => <a href={href(`/jobs/${job.job_id}`)} title={job.job_id}>{job.task}</a> },
    ...(payload ? [{ name: "Arguments", kind: "args", part: 14, show: (job: Job) => <Arguments of={job.payload} /> }] : []),
    { name: "Queue", width: 90, show: (job) => job.queue },
    { name: "Age", kind: "num", width: 84, show: (job) => <Age at={job.created_at} /> },
    { name: "Attempts", kind: "num", width: 90, show: (job) => `${job.attempts_made} of ${job.max_attempts}` },
    { name: "Took", kind: "num", width: 84, show: (job) => <Took job={job} /> },
    { name: "What", kind: "what", show: (job) => <span class="muted" title={job.error ?? undefined}>{what(job)}</span> },
    { name: "Owner", rare: true, width: 140, show: (job) => job.owner ?? <span class="muted">–</span> },
    { name: "Id", rare: true, width: 140, show: (job) => <code>{short(job.job_id)}</code> },
  ];
}

/** Failed, and somebody has seen to it. */
function Recovered({ as }: { as: string }) {
  return <a class="recovered" href={href(`/jobs/${as}`)} title={`Recovered as ${as}`}>↻<span class="sr">recovered</span></a>;
}

function what(job: Job): string {
  if (job.error) return job.recovered_as ? `recovered · ${job.error}` : job.error;
  if (job.progress?.percent !== undefined && job.status === "processing") return progressed(job.progress);
  return "";
}
