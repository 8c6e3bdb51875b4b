// Why a job does not run, with the next thing to do as a button.
import { get, post } from "../lib/api";
import type { Why } from "../lib/jobtypes";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { Job } from "../lib/types";
import { askFor, WORDS } from "../parts/acts";
import { ask } from "../parts/ask";
import { Command } from "../parts/copy";
import { Ago } from "../parts/time";
import { Told } from "../parts/told";
import { complain, tell } from "../parts/toast";

export function WhyBanner({ job, again }: { job: Job; again: () => void }) {
  const why = useLoad(() => get<{ causes: Why[] }>(`/jobs/${job.job_id}/why`), [job.job_id, job.updated_at], 3_000);
  const [first, ...others] = why.data?.causes ?? [];
  if (!first || first.because === "running") return null;
  const ended = Boolean(job.finished_at);
  return (
    <section class={`banner why ${job.status === "failed" ? "bad" : job.status === "cancelled" ? "quiet" : ""}`} aria-label={ended ? "How it ended" : "Why it does not run"}>
      <div class="grow stack tight">
        <span><strong>{ended ? (job.status === "cancelled" ? "Cancelled." : "Failed.") : job.state === "active" ? "It runs, but:" : "Why is it not running?"}</strong> <Told text={first.text} jobs={first.jobs} /></span>
        {others.length > 0 && <ul class="plainlist muted">{others.map((cause) => <li key={cause.because + cause.text}><Told text={cause.text} jobs={cause.jobs} /></li>)}</ul>}
      </div>
      <Next cause={first} job={job} again={again} />
    </section>
  );
}

const STANDS: Record<string, string> = {
  waiting: "It is due, and runs when a worker is free for it.", blocked: "It waits for other jobs to end.", cancelled: "It was cancelled.",
};

/** For the owner of a job, who does not see what others do: what the job itself tells. */
export function Briefly({ job }: { job: Job }) {
  const state = job.state ?? job.status;
  const kind = state === "failed" ? "bad" : state === "cancelled" ? "quiet" : "";
  if (state === "active") return null;
  return (
    <section class={`banner why ${kind}`} aria-label={job.finished_at ? "How it ended" : "Why it does not run"}>
      <span class="grow">
        {state === "failed" && <><strong>Failed.</strong> <span class="words">{job.error}</span></>}
        {state === "delayed" && <>{job.attempts_made ? "It is tried again" : "It is due"} <Ago at={job.next_attempt_at} />.{job.error && <> The last attempt failed: <span class="words">{job.error}</span></>}</>}
        {STANDS[state]}
      </span>
    </section>
  );
}

/** The command that the service names, as something to click; what cannot be clicked is to be typed. */
function Next({ cause, job, again }: { cause: Why; job: Job; again: () => void }) {
  const may = useWho().may("operate");
  const command = cause.next;
  if (!command) return null;
  const [verb, ...rest] = command.replace(/^penstock /, "").split(" ");
  const on = rest.join(" ");
  if (verb === "resume") return may ? <button type="button" class="primary" onClick={() => confirmed(`Resume queue ${on}?`, "Resume", command, `/queues/${encodeURIComponent(on)}/resume`, again)}>Resume the queue</button> : null;
  if (verb === "breakers" && rest[0] === "close") {
    const name = rest.slice(1).join(" ");
    return (
      <span class="line wrap">
        <a class="button" href={href("/limits")}>Breakers</a>
        {may && <button type="button" class="primary" onClick={() => confirmed(`Close breaker ${name}?`, "Close the breaker", command, `/breakers/${encodeURIComponent(name)}/reset`, again)}>Close the breaker</button>}
      </span>
    );
  }
  if ((verb === "retry" || verb === "cancel") && on !== job.job_id) return <Other id={on} act={verb} again={again} />;
  if (verb === "retry") return may && !job.finished_at ? <button type="button" class="primary" onClick={() => askFor("retry", [job], again)}>Run now</button> : null;
  if (verb === "cancel") return may ? <button type="button" class="danger" onClick={() => askFor("cancel", [job], again)}>Cancel</button> : null;
  if ((verb === "why" || verb === "job") && on !== job.job_id) return <a class="button" href={href(`/jobs/${on}`)}>To that job</a>;
  if (verb === "job") return null;
  const place = PLACES[verb ?? ""];
  return place ? <a class="button" href={href(place[0])}>{place[1]}</a> : <Command text={command} />;
}

/** What is to be done is done to another job than the one that is looked at. */
function Other({ id, act, again }: { id: string; act: "retry" | "cancel"; again: () => void }) {
  const may = useWho().may("operate");
  const asked = () => get<Job>(`/jobs/${encodeURIComponent(id)}`).then((other) => askFor(act, [other], again), complain);
  return (
    <span class="line wrap">
      <a class="button" href={href(`/jobs/${encodeURIComponent(id)}`)}>To that job</a>
      {may && <button type="button" class={act === "retry" ? "primary" : "danger"} onClick={() => void asked()}>{WORDS[act].title} that job</button>}
    </span>
  );
}

const PLACES: Record<string, [string, string]> = {
  workers: ["/workers", "Workers"], tasks: ["/tasks", "Tasks"], limits: ["/limits", "Limits"], top: ["/queues", "Queues"],
  health: ["/", "Overview"], flow: ["/jobs", "Jobs"],
};

function confirmed(title: string, action: string, command: string, path: string, again: () => void): void {
  ask({
    title, action, command,
    act: async (reason) => {
      await post(path, { reason: reason || null });
      tell("Done");
      again();
    },
  });
}
