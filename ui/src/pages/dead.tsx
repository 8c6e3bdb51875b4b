// Dead letters, by cause: what fails alike is mended alike. Recover one, watch it, then the rest.
import { useState } from "preact/hooks";
import { get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { DeadLetter, DeadPage, Job } from "../lib/types";
import { count, quoted, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Json, Trace } from "../parts/data";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { complain, tell } from "../parts/toast";
import { Pager } from "./jobs";

interface Cause { id: string; task: string; error: string; letters: DeadLetter[] }

const PAGE = 200;

/** Ids and numbers differ from one failure to the next; what is left is the cause. */
export function folded(error: string | null): string {
  return (error ?? "no error was recorded").replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "…").replace(/\d+/g, "…");
}

export function causes(letters: DeadLetter[]): Cause[] {
  const found = new Map<string, Cause>();
  for (const letter of letters) {
    const id = `${letter.task} ${folded(letter.error)}`;
    const cause = found.get(id) ?? { id, task: letter.task, error: folded(letter.error), letters: [] };
    cause.letters.push(letter);
    found.set(id, cause);
  }
  return [...found.values()].sort((a, b) => b.letters.length - a.letters.length);
}

export function DeadLetters() {
  const { query } = useRoute();
  const after = query.get("after") ?? undefined;
  const page = useLoad(() => get<DeadPage>("/dead-letters", { limit: PAGE, after }), [after]);
  return (
    <>
      <div class="head"><h1>Dead letters</h1></div>
      <Shown of={page}>
        {(data) => {
          const all = causes(data.dead_letters);
          const chosen = all.find((cause) => cause.id === query.get("cause")) ?? all[0];
          if (!chosen) return <Empty title="No dead letters" text="Jobs that fail for good are kept here, for thirty days, until somebody recovers them." />;
          return (
            <div class="split">
              <div>
                <div class="causes" role="group" aria-label="Causes">{all.map((cause) => <CauseButton key={cause.id} cause={cause} chosen={cause === chosen} />)}</div>
                <Pager next={data.next} />
              </div>
              <OneCause key={chosen.id} cause={chosen} more={data.next !== null} done={page.again} />
            </div>
          );
        }}
      </Shown>
    </>
  );
}

function CauseButton({ cause, chosen }: { cause: Cause; chosen: boolean }) {
  const times = cause.letters.map((letter) => letter.failed_at).sort();
  return (
    <button type="button" aria-current={chosen} onClick={() => turn({ cause: cause.id })}>
      <span class="line"><strong class="grow clip">{cause.task}</strong><strong>{count(cause.letters.length)}</strong></span>
      <span class="muted clip">{cause.error}</span>
      <span class="muted line">first <Ago at={times[0]} /> · last <Ago at={times.at(-1)} /></span>
    </button>
  );
}

function OneCause({ cause, more, done }: { cause: Cause; more: boolean; done: () => void }) {
  const who = useWho();
  const [canary, setCanary] = useState<string>();
  const first = cause.letters[0] as DeadLetter;
  const sample = useLoad(() => get<DeadLetter>(`/dead-letters/${first.job_id}`), [first.job_id]);
  return (
    <section class="stack" aria-label={`${cause.task}: ${cause.error}`}>
      <div class="card stack">
        <div class="line wrap">
          <h2 class="grow">{cause.task}: {first.error ?? first.reason}</h2>
          {who.may("operate") && <Actions cause={cause} canary={setCanary} done={done} />}
        </div>
        {canary && <Canary id={canary} />}
        {more && <p class="muted">Only the latest {PAGE} dead letters are grouped here.</p>}
        <Shown of={sample}>
          {(letter) => (
            <>
              <dl class="facts">
                <dt>Reason</dt><dd>{letter.reason}{letter.code ? ` · ${letter.code}` : ""}</dd>
                <dt>Attempts</dt><dd>{letter.attempts} of {letter.max_attempts}, {seconds(letter.ran_for)} in all</dd>
                <dt>Queue</dt><dd>{letter.queue}</dd>
                <dt>Failed</dt><dd><Ago at={letter.failed_at} /></dd>
              </dl>
              {letter.payload !== undefined && <><h2>Arguments of the latest</h2><Json of={letter.payload} /></>}
              {letter.traceback && <Trace text={letter.traceback} />}
            </>
          )}
        </Shown>
      </div>
      <Table label="Dead letters of this cause" rows={cause.letters.slice(0, 50)} keyOf={(l) => l.job_id} columns={columns(who.may("operate"), done)} />
    </section>
  );
}

function columns(mayAct: boolean, done: () => void): Column<DeadLetter>[] {
  return [
    { name: "Job", show: (l) => <a href={href(`/jobs/${l.job_id}`)}><code>{short(l.job_id)}</code></a> },
    { name: "Failed", show: (l) => <Ago at={l.failed_at} /> },
    { name: "Attempts", num: true, show: (l) => l.attempts },
    { name: "Error", show: (l) => <span class="muted" title={l.error ?? ""}>{l.error}</span> },
    { name: "", show: (l) => mayAct && (
      <>
        <button type="button" class="small" onClick={() => recoverOne(l, done)}>Recover</button>
        {l.payload !== undefined && <button type="button" class="small" onClick={() => edit(l, done)}>Edit</button>}
        <button type="button" class="small danger" onClick={() => purge(l, done)}>Purge</button>
      </>
    ) },
  ];
}

function Actions({ cause, canary, done }: { cause: Cause; canary: (id: string) => void; done: () => void }) {
  const first = cause.letters[0] as DeadLetter;
  const one = async () => {
    try {
      const made = await post<{ job_id: string }>(`/dead-letters/${first.job_id}/recover`, {});
      canary(made.job_id);
    } catch (error) {
      complain(error);
    }
  };
  return (
    <span class="line">
      <button type="button" class="primary" onClick={() => void one()}>Recover one</button>
      {cause.letters.length > 1 && <button type="button" onClick={() => recoverRest(cause, done)}>Recover the rest…</button>}
    </span>
  );
}

/** The one that was recovered first, watched until it has ended. */
function Canary({ id }: { id: string }) {
  const job = useLoad(() => get<Job>(`/jobs/${id}`), [id], 1_000);
  return (
    <p class="banner info" role="status">
      <span>Recovered as <a href={href(`/jobs/${id}`)}><code>{short(id)}</code></a>:</span>
      {job.data && <State of={job.data.state ?? job.data.status} />}
      {job.data?.error && <span class="clip">{job.data.error}</span>}
    </p>
  );
}

function recoverOne(letter: DeadLetter, done: () => void): void {
  ask({
    title: "Recover this job?", action: "Recover", command: `penstock dlq recover ${letter.job_id}`,
    body: <p>It becomes a new job with its attempts reset.</p>,
    act: async (reason) => {
      const made = await post<{ job_id: string; already: boolean }>(`/dead-letters/${letter.job_id}/recover`, { reason: reason || null });
      tell(made.already ? `It had been recovered already, as ${made.job_id}` : `Recovered as ${made.job_id}`);
      done();
    },
  });
}

function edit(letter: DeadLetter, done: () => void): void {
  let text = JSON.stringify(letter.payload, null, 2);
  ask({
    title: "Recover with other arguments", action: "Recover",
    body: <label class="field">Arguments<textarea defaultValue={text} rows={10} onInput={(event) => (text = event.currentTarget.value)} /></label>,
    act: async (reason) => {
      const made = await post<{ job_id: string }>(`/dead-letters/${letter.job_id}/recover`, { payload: JSON.parse(text), reason: reason || null });
      tell(`Recovered as ${made.job_id}`);
      done();
    },
  });
}

function purge(letter: DeadLetter, done: () => void): void {
  ask({
    title: "Remove this dead letter for good?", action: "Purge", danger: true, command: `penstock dlq purge ${letter.job_id}`,
    body: <p>It cannot be recovered any more.</p>,
    act: async (reason) => {
      await post(`/dead-letters/${letter.job_id}/purge`, { reason: reason || null });
      tell("Removed");
      done();
    },
  });
}

function recoverRest(cause: Cause, done: () => void): void {
  let rate = 10;
  let stop = false;
  ask({
    title: `Recover ${count(cause.letters.length)} jobs of ${cause.task}?`, action: "Recover them",
    command: `penstock dlq recover-all --task ${quoted(cause.task)}`,
    body: (
      <>
        <p>{cause.error}</p>
        <label class="field">How many a second<input type="number" min={1} max={1000} defaultValue={String(rate)} onInput={(event) => (rate = event.currentTarget.valueAsNumber || 10)} /></label>
        <button type="button" onClick={() => (stop = true)}>Stop</button>
      </>
    ),
    act: async (reason) => {
      let good = 0;
      for (const letter of cause.letters) {
        if (stop) break;
        const made = await post<{ already: boolean }>(`/dead-letters/${letter.job_id}/recover`, { reason: reason || null });
        if (!made.already) good += 1;
        await new Promise((go) => setTimeout(go, 1000 / rate));
      }
      tell(`${count(good)} of ${count(cause.letters.length)} recovered`);
      done();
    },
  });
}
