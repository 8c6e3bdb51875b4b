// The one that was recovered first is watched; then the rest come back at a rate, until somebody stops it.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "../lib/api";
import type { Cause } from "../lib/jobtypes";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { DeadPage, Job } from "../lib/types";
import { count, short } from "../lib/words";
import { State } from "../parts/state";

export function Canary({ id, others, rest }: { id: string; others: number; rest: () => void }) {
  const job = useLoad(() => get<Job>(`/jobs/${id}`), [id], 1_000);
  const may = useWho().may("operate");
  const state = job.data?.state ?? job.data?.status;
  const kind = state === "completed" ? "good" : state === "failed" ? "bad" : "info";
  return (
    <div class={`banner ${kind}`} role="status" aria-label="The canary">
      <span>Recovered as <a href={href(`/jobs/${id}`)}><code title={id}>{short(id)}</code></a></span>
      {state && <State of={state} />}
      <span class="grow words">
        {state === "completed" ? "It went through: the others are likely to." : state === "failed" ? `It failed again: ${job.data?.error ?? "no error was recorded"}` : job.data ? "Watching it…" : ""}
      </span>
      {may && state === "completed" && others > 0 && <button type="button" class="primary" onClick={rest}>Recover the other {count(others)}…</button>}
    </div>
  );
}

interface Going { done: number; over: boolean; stopped: boolean; error?: string }

export function Rest({ cause, again, close }: { cause: Cause; again: () => void; close: () => void }) {
  const [going, go] = useState<Going>();
  const stop = useRef(false);
  const all = useRef(cause.count);
  useEffect(() => () => void (stop.current = true), []);
  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    all.current = cause.count;
    go(await recovered(cause, Number(given.get("rate")), String(given.get("reason") ?? ""), stop, go));
    again();
  };
  if (!going) {
    return (
      <form class="banner info rest" onSubmit={begin} aria-label="Recover the rest">
        <label class="field">How many a second<input name="rate" type="number" min={1} max={200} defaultValue="10" required /></label>
        <label class="field grow">Why? (kept in the audit log)<input name="reason" maxLength={500} /></label>
        <button type="submit" class="primary">Recover {count(cause.count)}</button>
        <button type="button" onClick={close}>Keep as it is</button>
        <span class="muted whole">Stay on this page: leaving it stops it. What fails from now on is left for another look.</span>
      </form>
    );
  }
  return (
    <div class="banner info rest">
      <progress max={Math.max(all.current, going.done, 1)} value={going.done} aria-label="Recovered so far" />
      <span class="grow" role="status">{count(going.done)} of {count(all.current)} recovered{going.over ? (going.stopped ? ". Stopped: the others are as they were." : ".") : "…"}</span>
      {going.over ? <button type="button" onClick={close}>Close</button> : <button type="button" onClick={() => (stop.current = true)}>Stop</button>}
      {going.error && <span class="whole" role="alert">{going.error}</span>}
    </div>
  );
}

const MOST = 200; // at once
const wait = (ms: number) => new Promise((then) => setTimeout(then, ms));

/** A second's worth at a time. What is recovered and fails anew has failed later than the look: it is not met again. */
async function recovered(cause: Cause, rate: number, reason: string, stop: { current: boolean }, tell: (going: Going) => void): Promise<Going> {
  const going: Going = { done: 0, over: false, stopped: false };
  const until = new Date(Date.parse(cause.last_at) + 1).toISOString();
  const limit = Math.max(1, Math.min(MOST, Math.ceil(rate)));
  let after: string | null = null;
  tell({ ...going });
  try {
    while (!stop.current) {
      const page: DeadPage = await get<DeadPage>("/dead-letters", { cause: cause.id, task: cause.task, until, limit, after });
      const ids = page.dead_letters.map((letter) => letter.job_id);
      if (ids.length) {
        const done = await post<{ job_ids: string[] }>("/dead-letters/recover", { job_ids: ids, rate, reason: reason || null });
        going.done += done.job_ids.length;
        tell({ ...going });
      }
      if (!page.next) return { ...going, over: true };
      after = page.next;
      await wait((ids.length / rate) * 1000);
    }
  } catch (error) {
    return { ...going, over: true, error: (error as Error).message };
  }
  return { ...going, over: true, stopped: true };
}
