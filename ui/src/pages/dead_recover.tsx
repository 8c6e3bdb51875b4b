// The one that was recovered first is watched; then the rest come back at a rate, until somebody stops it.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "../lib/api";
import { idsOf } from "../lib/causes";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Job } from "../lib/types";
import { count, seconds, short } from "../lib/words";
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

/** It ran here, in a page that was left: what it had not come to is as it was. */
export function LeftOver({ left, rest }: { left: number; rest: () => void }) {
  const rate = useRoute().query.get("running");
  if (!rate || !left) return null;
  return (
    <div class="banner warn" role="status">
      <span class="grow words">A recovery at {rate} a second was begun here; it goes on only in the page where it runs. {count(left)} {left === 1 ? "is" : "are"} still dead, as they were.</span>
      <button type="button" onClick={rest}>Go on…</button>
    </div>
  );
}

interface Going { done: number; already: number; gone: number; over: boolean; stopped: boolean; lasts: number; error?: string }
interface Wish { ids: string[]; rate: number; reason: string }
type Flag = { current: boolean };

export function Rest({ cause, again, close }: { cause: { id: string; task: string }; again: () => void; close: () => void }) {
  const [counted, see] = useState(0);
  const [ids, found] = useState<string[]>();
  const [refused, refuse] = useState<string>();
  const [going, go] = useState<Going>();
  const [stop, handed] = [useRef(false), useRef(false)];
  const [given, give] = useState(false); // to the service
  useEffect(() => {
    idsOf(cause, see, stop).then(found, (error: Error) => refuse(error.message));
    return () => void (stop.current = true);
  }, []);
  const running = going !== undefined && !going.over;
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    if (running) addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [running]);
  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    if (!ids) return;
    const wish = { ids, rate: Number(form.get("rate")), reason: String(form.get("reason") ?? "") };
    turn({ running: String(wish.rate) }, true);
    go(await recovered(wish, stop, handed, go));
    turn({ running: undefined }, true);
    again();
  };
  if (refused) return <div class="banner bad" role="alert"><span class="grow">{refused}</span><button type="button" onClick={close}>Close</button></div>;
  if (!going) {
    return (
      <form class="banner info rest" onSubmit={begin} aria-label="Recover the rest">
        <label class="field">How many a second<input name="rate" type="number" min={1} max={200} defaultValue="10" required /></label>
        <label class="field grow">Why? (kept in the audit log)<input name="reason" maxLength={500} /></label>
        <button type="submit" class="primary" disabled={!ids?.length}>{ids ? `Recover ${count(ids.length)}` : `Counting… ${count(counted)}`}</button>
        <button type="button" onClick={close}>Keep as it is</button>
        <span class="muted whole">Just those that are dead now: what fails from now on is left for another look. It runs while this page is open, or hand it over to the service once it runs.</span>
      </form>
    );
  }
  const all = ids?.length ?? 0;
  return (
    <div class={`banner rest ${going.over && !going.error && !going.stopped ? "good" : "info"}`} aria-label="The recovery" role="group">
      <progress max={Math.max(all, 1)} value={going.done + going.already + going.gone} aria-label="Recovered so far" />
      <span class="grow" role="status">{told(going, all)}</span>
      {going.over
        ? <button type="button" onClick={close}>Close</button>
        : <>
            {!given && <button type="button" title="The service makes new jobs of all the others at once, due one by one at this rate; you can leave. They can be cancelled, not stopped." onClick={() => ((handed.current = true), give(true))}>Hand over to the service</button>}
            <button type="button" onClick={() => (stop.current = true)}>Stop</button>
          </>}
      {going.error && <span class="whole" role="alert">{going.error} What was recovered stays so.</span>}
    </div>
  );
}

function told({ done, already, gone, over, stopped, lasts, error }: Going, all: number): string {
  const others = [already ? `${count(already)} had been recovered by somebody else` : "", gone ? `${count(gone)} had been purged` : ""].filter(Boolean);
  const end = !over ? "…" : stopped ? ". Stopped: the others are as they were." : error ? "." : lasts > 1 ? `. The last of them is due in ${seconds(lasts)}.` : ".";
  return [`${count(done)} of ${count(all)} recovered`, ...others].join("; ") + end;
}

const MOST = 200; // at once
const wait = (ms: number) => new Promise((then) => setTimeout(then, ms));

/** A second's worth at a time; handed over, all at once, and due at the rate. */
async function recovered({ ids, rate, reason }: Wish, stop: Flag, handed: Flag, tell: (going: Going) => void): Promise<Going> {
  const going: Going = { done: 0, already: 0, gone: 0, over: false, stopped: false, lasts: 0 };
  let [at, behind] = [0, 0];
  tell({ ...going });
  try {
    while (at < ids.length && !stop.current) {
      const some = ids.slice(at, at + (handed.current ? MOST : Math.max(1, Math.min(MOST, Math.ceil(rate)))));
      const made = await post<{ job_ids: string[]; already: number; gone: number }>("/dead-letters/recover", { job_ids: some, rate, behind, reason: reason || null });
      at += some.length;
      if (handed.current) behind += some.length;
      Object.assign(going, { done: going.done + made.job_ids.length, already: going.already + made.already, gone: going.gone + made.gone, lasts: behind / rate });
      tell({ ...going });
      for (const until = Date.now() + (some.length / rate) * 1000; at < ids.length && !handed.current && !stop.current && Date.now() < until;) {
        await wait(Math.min(200, until - Date.now()));
      }
    }
  } catch (error) {
    return { ...going, over: true, error: (error as Error).message };
  }
  return { ...going, over: true, stopped: at < ids.length };
}
