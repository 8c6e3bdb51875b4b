// All that match: a look that is kept to, then step by step, and how many were still eligible.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "../lib/api";
import { forAll } from "../lib/commands";
import type { Act, Preview, Step } from "../lib/jobtypes";
import { asked, type Search } from "../lib/search";
import { count, exactly, short } from "../lib/words";
import { WORDS } from "../parts/acts";
import { Command } from "../parts/copy";
import { Arguments } from "../parts/jobcells";
import { State } from "../parts/state";

const FOR: Record<Act, string[]> = {
  retry: ["failed"], promote: ["delayed"], cancel: ["waiting", "delayed", "blocked", "active"], delete: ["completed", "failed", "cancelled"],
};
const MEANS: Record<Act, string> = {
  retry: "Only failed jobs: they are made anew with their attempts reset. What is delayed stays so: see Run now.",
  promote: "Delayed jobs become due now.",
  cancel: "What has not begun never will; what runs is asked to stop.",
  delete: "Their records go for good, also from the history. Dead letters stay.",
};

/** What can be done to jobs of this state; of all states, everything. */
export const actsFor = (state: string | undefined): Act[] =>
  (Object.keys(FOR) as Act[]).filter((act) => !state || FOR[act].includes(state));

/** To retry is said of what has failed; what is planned for later is not run by it. */
const meant = (act: Act, search: Search): Search => (act === "retry" ? { ...search, query: { ...search.query, state: "failed" } } : search);

interface Going { done: number; left: number; over: boolean; stopped: boolean; error?: string }

interface Given { act: Act; search: Search; close: () => void; done: () => void }

export function AllMatching({ act, search: given, close, done }: Given) {
  const search = meant(act, given);
  const dialog = useRef<HTMLDialogElement>(null);
  const [seen, see] = useState<Preview>();
  const [refused, refuse] = useState<string>();
  const [going, go] = useState<Going>();
  const stop = useRef(false);
  useEffect(() => {
    dialog.current?.showModal();
    counted(act, search, see, stop).catch((error: Error) => refuse(error.message));
    return () => void (stop.current = true);
  }, []);

  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    if (!seen?.confirm) return;
    const last = await carriedOut(act, search, seen, String(form.get("reason") ?? ""), Number(form.get("rate") ?? 50), stop, go);
    go(last);
    done();
  };
  const words = WORDS[act];
  return (
    <dialog ref={dialog} onClose={close} onCancel={(event) => going && !going.over && event.preventDefault()} aria-labelledby="all-title">
      <form onSubmit={begin}>
        <h2 id="all-title">{words.title}: all that match</h2>
        {refused && <p class="banner bad" role="alert">{refused}</p>}
        {!seen && !refused && <p class="muted" role="status">Counting…</p>}
        {seen && !going && <Look act={act} seen={seen} command={forAll(act, search)} />}
        {seen && going && <Progress act={act} seen={seen} going={going} />}
        <div class="foot">
          {!going && <button type="button" onClick={() => dialog.current?.close()}>Keep as it is</button>}
          {seen && !going && (seen.count > 0 || seen.next) && (
            <button type="submit" disabled={!seen.confirm} class={`primary ${act === "cancel" || act === "delete" ? "danger" : ""}`}>{seen.confirm ? `${words.title} ${count(seen.count)}` : "Counting…"}</button>
          )}
          {going && !going.over && <button type="button" onClick={() => (stop.current = true)}>Stop</button>}
          {going?.over && <button type="button" class="primary" onClick={() => dialog.current?.close()}>Close</button>}
        </div>
      </form>
    </dialog>
  );
}

/** "525 failed, 6,000 delayed". */
const split = (seen: Preview): string => Object.entries(seen.by_state).map(([state, n]) => `${count(n)} ${state}`).join(", ");

function Look({ act, seen, command }: { act: Act; seen: Preview; command: string | undefined }) {
  if (!seen.count && !seen.next) return <p>None of the jobs that match can be acted on so. This is for jobs that are {FOR[act].join(" or ")}.</p>;
  return (
    <>
      <p role="status"><strong>{count(seen.count)} {seen.next ? "so far, still counting" : seen.count === 1 ? "job" : "jobs"}</strong>{seen.count > 0 && ` (${split(seen)})`} matched at <time dateTime={seen.cut_off} title={exactly(seen.cut_off)}>{new Date(seen.cut_off).toLocaleTimeString()}</time>. What comes or changes after that is left alone.</p>
      <p class="muted">{MEANS[act]}</p>
      <ul class="plainlist" aria-label="Some of them">
        {seen.examples.map((job) => <li key={job.job_id} class="line wrap"><State of={job.state ?? job.status} /> <span>{job.task}</span> <Arguments of={job.payload} /> <code class="muted" title={job.job_id}>{short(job.job_id)}</code></li>)}
        {seen.count > seen.examples.length && <li class="muted">and {count(seen.count - seen.examples.length)} more</li>}
      </ul>
      {act === "retry" && <label class="field">How many a second<input name="rate" type="number" min={1} max={10000} defaultValue="50" required /></label>}
      <label class="field">Why? (kept in the audit log)<input name="reason" maxLength={500} autoFocus /></label>
      {command && <Command text={command} />}
    </>
  );
}

function Progress({ act, seen, going }: { act: Act; seen: Preview; going: Going }) {
  const words = WORDS[act];
  const rest = Math.max(0, seen.count - going.done);
  return (
    <>
      <progress max={Math.max(seen.count, going.done + going.left, 1)} value={going.done + going.left} aria-label={`${words.title}: so far`} />
      <p role="status">
        {count(going.done)} of {count(seen.count)} {words.done}
        {going.over && !going.stopped && !going.error && (rest > 0 ? `; ${count(rest)} ${rest === 1 ? "was" : "were"} not eligible any more` : "; all were still eligible")}
        {going.over && (going.stopped || going.error) && going.left > 0 && `; ${count(going.left)} of those that were reached ${going.left === 1 ? "was" : "were"} not eligible any more`}
        {going.over && going.stopped && ". Stopped: the others are as they were"}
        {going.over ? "." : "…"}
      </p>
      {going.error && <p class="banner bad" role="alert">{going.error} What was done stays done; look again to go on.</p>}
    </>
  );
}

type Flag = { current: boolean };

/** Look by look, each told of, until all are counted: only then can it be confirmed. */
async function counted(act: Act, search: Search, tell: (seen: Preview) => void, stop: Flag): Promise<void> {
  let after: string | null = null;
  const examples: Preview["examples"] = [];
  do {
    const seen: Preview = await get<Preview>("/jobs/matching", { ...asked(search), act, after });
    examples.push(...seen.examples);
    tell({ ...seen, examples: [...examples] });
    after = seen.next;
  } while (after && !stop.current);
}

async function carriedOut(
  act: Act, search: Search, seen: Preview, reason: string, rate: number, stop: Flag, tell: (going: Going) => void,
): Promise<Going> {
  const going: Going = { done: 0, left: 0, over: false, stopped: false };
  let after: string | null = null;
  tell({ ...going });
  try {
    do {
      const step: Step = await post<Step>(`/jobs/matching/${act}`, {
        ...search.query, args: search.args, cut_off: seen.cut_off, count: seen.count, confirm: seen.confirm,
        after, done: going.done, rate, reason: reason || null,
      });
      going.done += step.done;
      going.left += step.left;
      after = step.next;
      tell({ ...going });
    } while (after && !stop.current);
  } catch (error) {
    return { ...going, over: true, error: (error as Error).message };
  }
  return { ...going, over: true, stopped: after !== null };
}
