// The one that was recovered first is watched; then the rest come back at a rate, until somebody stops it.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../lib/api";
import { idsOf } from "../lib/causes";
import { useLoad } from "../lib/load";
import { change, forget, recover, type Recovery } from "../lib/recovery";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Job } from "../lib/types";
import { count, seconds, short } from "../lib/words";
import { State } from "../parts/state";
import { tell } from "../parts/toast";

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
      <span class="grow words">A recovery at {rate} a second was begun here; it goes on only in the tab where it runs. {count(left)} {left === 1 ? "is" : "are"} still dead, as they were.</span>
      <button type="button" onClick={rest}>Go on…</button>
    </div>
  );
}

interface RestGiven { cause: { id: string; task: string; error: string }; close: () => void }

/** Just those that are dead as it is asked for, by their ids. */
export function Rest({ cause, close }: RestGiven) {
  const [counted, see] = useState(0);
  const [ids, found] = useState<string[]>();
  const [refused, refuse] = useState<string>();
  const stop = useRef(false);
  useEffect(() => {
    idsOf(cause, see, stop).then(found, (error: Error) => refuse(error.message));
    return () => void (stop.current = true);
  }, []);
  const begin = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    if (!ids) return;
    const wish = { ids, rate: Number(form.get("rate")), reason: String(form.get("reason") ?? "") };
    void recover(cause.id, wish, (recovery) => tell(`${cause.task}: ${cause.error}: ${told(recovery)}`));
    close();
  };
  if (refused) return <div class="banner bad" role="alert"><span class="grow">{refused}</span><button type="button" onClick={close}>Close</button></div>;
  return (
    <form class="banner info rest" onSubmit={begin} aria-label="Recover the rest">
      <label class="field">How many a second<input name="rate" type="number" min={1} max={200} defaultValue="10" required /></label>
      <label class="field grow">Why? (kept in the audit log)<input name="reason" maxLength={500} /></label>
      <button type="submit" class="primary" disabled={!ids?.length}>{ids ? `Recover ${count(ids.length)}` : `Counting… ${count(counted)}`}</button>
      <button type="button" onClick={close}>Keep as it is</button>
      <span class="muted whole">Just those that are dead now: what fails from now on is left for another look. It runs while this tab is open, on whatever page, or hand it over to the service once it runs.</span>
    </form>
  );
}

/** As it goes, and how it ended, until somebody closes it. */
export function Recovering({ cause, recovery, again }: { cause: string; recovery: Recovery; again: () => void }) {
  const { going, all, rate, handed } = recovery;
  useEffect(() => {
    turn({ running: going.over ? undefined : String(rate) }, true);
    if (going.over) again();
    return () => void (!going.over && tell("The recovery goes on while this tab is open. Its end is told here."));
  }, [going.over]);
  return (
    <div class={`banner rest ${going.over && !going.error && !going.stopped ? "good" : "info"}`} aria-label="The recovery" role="group">
      <progress max={Math.max(all, 1)} value={going.done + going.already + going.gone} aria-label="Recovered so far" />
      <span class="grow" role="status">{told(recovery)}</span>
      {going.over
        ? <button type="button" onClick={() => forget(cause)}>Close</button>
        : <>
            {!handed && <button type="button" title="The service makes new jobs of all the others at once, due one by one at this rate; you can leave. They can be cancelled, not stopped." onClick={() => change(cause, { handed: true })}>Hand over to the service</button>}
            <button type="button" onClick={() => change(cause, { stop: true })}>Stop</button>
          </>}
      {going.error && <span class="whole" role="alert">{going.error} What was recovered stays so.</span>}
    </div>
  );
}

function told({ all, going: { done, already, gone, over, stopped, lasts, error } }: Recovery): string {
  const others = [already ? `${count(already)} had been recovered by somebody else` : "", gone ? `${count(gone)} had been purged` : ""].filter(Boolean);
  const end = !over ? "…" : stopped ? ". Stopped: the others are as they were." : error ? "." : lasts > 1 ? `. The last of them is due in ${seconds(lasts)}.` : ".";
  return [`${count(done)} of ${count(all)} recovered`, ...others].join("; ") + end;
}
