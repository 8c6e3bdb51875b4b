import { useState } from "preact/hooks";
import { get } from "../lib/api";
import { useListKeys } from "../lib/keys";
import { useLoad } from "../lib/load";
import { go, href, turn, useRoute } from "../lib/route";
import { parse, without, words } from "../lib/search";
import { useWho } from "../lib/session";
import type { Job, JobPage } from "../lib/types";
import { short } from "../lib/words";
import { askFor } from "../parts/acts";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";

const STATES = ["waiting", "delayed", "blocked", "active", "completed", "failed", "cancelled"];

export function Jobs() {
  const { query } = useRoute();
  const text = query.get("q") ?? "";
  const after = query.get("after") ?? undefined;
  const search = parse(text);
  const page = useLoad(
    () => get<JobPage>("/jobs", { ...parse(text).query, ...argsOf(search.args), after, limit: 50 }),
    [text, after],
  );
  return (
    <>
      <div class="head">
        <h1 class="grow">Jobs</h1>
        <StateFilter text={text} chosen={search.query.state} />
      </div>
      <Understood text={text} unknown={search.unknown} />
      <Shown of={page}>{(data) => <List page={data} text={text} reload={page.again} />}</Shown>
    </>
  );
}

const argsOf = (args: Record<string, string>) =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [`args.${name}`, value]));

function StateFilter({ text, chosen }: { text: string; chosen: string | undefined }) {
  const choose = (state: string | undefined) => {
    const rest = words(text).filter((word) => !word.startsWith("state:"));
    turn({ q: [...(state ? [`state:${state}`] : []), ...rest].join(" "), after: undefined });
  };
  return (
    <div class="segments" role="group" aria-label="State">
      <button type="button" aria-pressed={!chosen} onClick={() => choose(undefined)}>all</button>
      {STATES.map((state) => (
        <button key={state} type="button" aria-pressed={state === chosen} onClick={() => choose(state)}>{state}</button>
      ))}
    </div>
  );
}

function Understood({ text, unknown }: { text: string; unknown: string[] }) {
  if (!text) return null;
  return (
    <div class="chips">
      {words(text).map((word) => (
        <span key={word} class="chip">
          {unknown.includes(word) ? `not understood: ${word}` : word}
          <button type="button" aria-label={`Without ${word}`} onClick={() => turn({ q: without(text, word), after: undefined })}>×</button>
        </span>
      ))}
    </div>
  );
}

function List({ page, text, reload }: { page: JobPage; text: string; reload: () => void }) {
  const who = useWho();
  const [cursor, setCursor] = useState(-1);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  useListKeys((key) => {
    const at = page.jobs[cursor];
    if (key === "j") setCursor(Math.min(cursor + 1, page.jobs.length - 1));
    if (key === "k") setCursor(Math.max(cursor - 1, 0));
    if (key === "o" && at) go(href(`/jobs/${at.job_id}`));
    if (key === "x" && at && who.may("operate")) toggle(at.job_id);
  });
  if (!page.jobs.length) {
    return text
      ? <Empty title="No job matches" text="Take away one of the words above, or look in the history." command={`penstock jobs`} />
      : <Empty title="No jobs yet" text="Enqueue one from the page of a task, or type" command="penstock demo" />;
  }
  const rows = page.jobs.filter((job) => chosen.has(job.job_id));
  const done = () => (setChosen(new Set()), reload());
  return (
    <>
      {who.may("operate") && rows.length > 0 && (
        <div class="banner info">
          <span class="grow">{rows.length} chosen</span>
          <button type="button" onClick={() => askFor("retry", rows, done)}>Retry</button>
          <button type="button" onClick={() => askFor("promote", rows, done)}>Run now</button>
          <button type="button" class="danger" onClick={() => askFor("cancel", rows, done)}>Cancel</button>
          <button type="button" class="plain" onClick={() => setChosen(new Set())}>Choose none</button>
        </div>
      )}
      <Table label="Jobs" rows={page.jobs} keyOf={(job) => job.job_id} cursor={cursor} columns={columns(who.may("operate"), chosen, toggle)} foot={<Pager next={page.next} />} />
    </>
  );
}

function columns(mayAct: boolean, chosen: ReadonlySet<string>, toggle: (id: string) => void): Column<Job>[] {
  const box: Column<Job> = {
    name: "·",
    show: (job) => <input type="checkbox" aria-label={`Choose ${job.job_id}`} checked={chosen.has(job.job_id)} onChange={() => toggle(job.job_id)} />,
  };
  return [
    ...(mayAct ? [box] : []),
    { name: "State", show: (job) => <State of={job.state ?? job.status} /> },
    { name: "Task", show: (job) => <a href={href(`/jobs/${job.job_id}`)}>{job.task}</a> },
    { name: "Id", show: (job) => <code title={job.job_id}>{short(job.job_id)}</code> },
    { name: "Queue", show: (job) => job.queue },
    { name: "Owner", show: (job) => job.owner ?? <span class="muted">–</span> },
    { name: "Age", show: (job) => <Ago at={job.created_at} /> },
    { name: "Attempts", num: true, show: (job) => `${job.attempts_made} of ${job.max_attempts}` },
    { name: "What", show: (job) => <span class="muted" title={job.error ?? ""}>{what(job)}</span> },
  ];
}

function what(job: Job): string {
  if (job.error) return job.error;
  if (job.progress?.percent !== undefined && job.status === "processing") return `${job.progress.percent} % ${job.progress.message ?? ""}`;
  return "";
}

export function Pager({ next }: { next: string | null }) {
  const { query } = useRoute();
  return (
    <div class="pager">
      {query.get("after") && <button type="button" class="small" onClick={() => turn({ after: undefined })}>To the newest</button>}
      <span class="grow" />
      {next && <button type="button" class="small" onClick={() => turn({ after: next })}>Older</button>}
    </div>
  );
}
