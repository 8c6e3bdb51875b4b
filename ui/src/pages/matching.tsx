// All that match: a look that is kept to, then step by step, and how many were still eligible.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, post } from "../lib/api";
import type { Act, Preview, Step } from "../lib/jobtypes";
import { asked, type Search } from "../lib/search";
import { count, exactly, short } from "../lib/words";
import { WORDS } from "../parts/acts";
import { Arguments } from "../parts/jobcells";
import { State } from "../parts/state";

const FOR: Record<Act, string[]> = {
  retry: ["failed", "delayed"], promote: ["delayed"], cancel: ["waiting", "delayed", "blocked", "active"], delete: ["completed", "failed", "cancelled"],
};
const MEANS: Record<Act, string> = {
  retry: "Failed jobs are made anew with their attempts reset; delayed ones become due now.",
  promote: "Delayed jobs become due now.",
  cancel: "What has not begun never will; what runs is asked to stop.",
  delete: "Their records go for good, also from the history. Dead letters stay.",
};

/** What can be done to jobs of this state; of all states, everything. */
export const actsFor = (state: string | undefined): Act[] =>
  (Object.keys(FOR) as Act[]).filter((act) => !state || FOR[act].includes(state)).filter((act) => !(act === "retry" && state === "delayed"));

interface Going { done: number; left: number; over: boolean; stopped: boolean; error?: string }

interface Given { act: Act; search: Search; close: () => void; done: () => void }

export function AllMatching({ act, search, close, done }: Given) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [seen, see] = useState<Preview>();
  const [refused, refuse] = useState<string>();
  const [going, go] = useState<Going>();
  const stop = useRef(false);
  useEffect(() => {
    dialog.current?.showModal();
    get<Preview>("/jobs/matching", { ...asked(search), act }).then(see, (error: ApiError) => refuse(error.message));
    return () => void (stop.current = true);
  }, []);

  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    if (!seen) return;
    const last = await carriedOut(act, search, seen, String(given.get("reason") ?? ""), Number(given.get("rate") ?? 50), stop, go);
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
        {seen && !going && <Look act={act} seen={seen} />}
        {seen && going && <Progress act={act} seen={seen} going={going} />}
        <div class="foot">
          {!going && <button type="button" onClick={() => dialog.current?.close()}>Keep as it is</button>}
          {seen && !going && seen.count > 0 && (
            <button type="submit" class={`primary ${act === "cancel" || act === "delete" ? "danger" : ""}`}>{words.title} {told(seen)}</button>
          )}
          {going && !going.over && <button type="button" onClick={() => (stop.current = true)}>Stop</button>}
          {going?.over && <button type="button" class="primary" onClick={() => dialog.current?.close()}>Close</button>}
        </div>
      </form>
    </dialog>
  );
}

const told = (seen: Preview): string => `${seen.more ? "more than " : ""}${count(seen.count)}`;

function Look({ act, seen }: { act: Act; seen: Preview }) {
  if (!seen.count && !seen.more) return <p>None of the jobs that match can be acted on so. This is for jobs that are {FOR[act].join(" or ")}.</p>;
  return (
    <>
      <p><strong>{told(seen)} {seen.count === 1 && !seen.more ? "job" : "jobs"}</strong> matched at <time dateTime={seen.cut_off} title={exactly(seen.cut_off)}>{new Date(seen.cut_off).toLocaleTimeString()}</time>. What comes or changes after that is left alone.</p>
      <p class="muted">{MEANS[act]}</p>
      <ul class="plainlist" aria-label="Some of them">
        {seen.examples.map((job) => <li key={job.job_id} class="line wrap"><State of={job.state ?? job.status} /> <span>{job.task}</span> <Arguments of={job.payload} /> <code class="muted" title={job.job_id}>{short(job.job_id)}</code></li>)}
        {(seen.count > seen.examples.length || seen.more) && <li class="muted">and {seen.more ? "more" : count(seen.count - seen.examples.length)}{seen.more ? "" : " more"}</li>}
      </ul>
      {act === "retry" && <label class="field">How many a second<input name="rate" type="number" min={1} max={10000} defaultValue="50" required /></label>}
      <label class="field">Why? (kept in the audit log)<input name="reason" maxLength={500} autoFocus /></label>
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
        {count(going.done)} of {told(seen)} {words.done}
        {going.over && !going.stopped && !going.error && rest > 0 && !seen.more && `; ${count(rest)} ${rest === 1 ? "was" : "were"} not eligible any more`}
        {going.over && going.stopped && ". Stopped: the others are as they were"}
        {going.over ? "." : "…"}
      </p>
      {going.error && <p class="banner bad" role="alert">{going.error} What was done stays done; look again to go on.</p>}
    </>
  );
}

type Flag = { current: boolean };

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
