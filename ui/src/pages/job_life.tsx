// The life of a job to scale: waiting, each attempt, the time between them; and the attempts as a list.
import type { Attempt, JobStory } from "../lib/jobtypes";
import { useNow } from "../lib/live";
import type { Job } from "../lib/types";
import { seconds } from "../lib/words";
import { Ago } from "../parts/time";

export interface Part { kind: "wait" | "run" | "ok" | "bad" | "off"; word: string; from: number; to: number }

const OUTCOME: Record<string, [Part["kind"], string]> = {
  completed: ["ok", "completed"], failed: ["bad", "failed"], cancelled: ["off", "cancelled"], active: ["run", "runs"],
};

/** From what is known of its attempts: each error says when it was, and how long that attempt had run. */
export function lifeOf(job: Job, story: JobStory | undefined, now: number): Part[] {
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  const parts: Part[] = [];
  let at = Date.parse(job.created_at);
  const until = (to: number, kind: Part["kind"], word: string) => {
    if (to > at) parts.push({ kind, word, from: at, to });
    at = Math.max(at, to);
  };
  for (const error of story?.errors ?? []) {
    const failed = error.at ? Date.parse(error.at) : at;
    until(failed - (error.ran_for ?? 0) * 1000, "wait", parts.length ? "waited to try again" : "waited");
    until(failed, "bad", `attempt ${error.attempt ?? "?"} failed`);
  }
  const outcome = OUTCOME[job.state ?? job.status];
  const started = story?.claimed_at ?? (story?.errors.length ? null : job.started_at);
  if (outcome && started && job.state !== "failed") {
    until(Date.parse(started), "wait", parts.length ? "waited to try again" : "waited");
    until(end, outcome[0], outcome[1]);
  } else until(end, "wait", "waited");
  return parts;
}

export function Life({ job, story }: { job: Job; story: JobStory | undefined }) {
  const now = useNow();
  const parts = lifeOf(job, story, now);
  const whole = Math.max(1, parts.reduce((sum, part) => sum + part.to - part.from, 0));
  const label = parts.map((part) => `${part.word} ${seconds((part.to - part.from) / 1000)}`).join(", ");
  return (
    <section class="stack tight" aria-label="Its life">
      <div class="life" role="img" aria-label={label || "nothing yet"}>
        {parts.map((part, n) => (
          <span key={n} class={part.kind} title={`${part.word}: ${seconds((part.to - part.from) / 1000)}`} style={{ width: `${((part.to - part.from) / whole) * 100}%` }} />
        ))}
      </div>
      <div class="line wrap legend">
        {sums(parts).map(([kind, word, ms]) => <span key={word} class="line"><i class={`swatch ${kind}`} aria-hidden="true" />{word} {seconds(ms / 1000)}</span>)}
        {job.state === "delayed" && <span>next attempt <Ago at={job.next_attempt_at} /></span>}
      </div>
      {story && story.errors.length > 0 && <Attempts job={job} errors={story.errors} />}
    </section>
  );
}

function sums(parts: Part[]): [Part["kind"], string, number][] {
  const names: Record<Part["kind"], string> = { wait: "waited", run: "runs for", ok: "ran for", bad: "failed runs", off: "ran until cancelled" };
  const total = new Map<Part["kind"], number>();
  for (const part of parts) total.set(part.kind, (total.get(part.kind) ?? 0) + part.to - part.from);
  return [...total].map(([kind, ms]) => [kind, names[kind], ms]);
}

function Attempts({ job, errors }: { job: Job; errors: Attempt[] }) {
  const last = errors.at(-1)?.attempt ?? errors.length;
  return (
    <ol class="attempts" aria-label="Attempts">
      {errors.map((error, n) => (
        <li key={n}>
          <span class="state failed"><span class="glyph" aria-hidden="true">✕</span>{error.attempt ?? n + 1}</span>
          <span class="clip grow" title={error.message}>{error.type}: {error.message}</span>
          <span class="muted">{error.ran_for !== undefined && `after ${seconds(error.ran_for)}, `}<Ago at={error.at} /></span>
        </li>
      ))}
      {job.state === "completed" && <li><span class="state completed"><span class="glyph" aria-hidden="true">✓</span>{last + 1}</span><span class="grow">completed</span><Ago at={job.finished_at} /></li>}
      {job.state === "active" && <li><span class="state active"><span class="glyph" aria-hidden="true">▶</span>{job.attempts_made}</span><span class="grow">runs now</span></li>}
      {job.state === "delayed" && <li><span class="state delayed"><span class="glyph" aria-hidden="true">◷</span>{job.attempts_made + 1}</span><span class="grow">next</span><Ago at={job.next_attempt_at} /></li>}
    </ol>
  );
}
