// What each attempt has logged by ctx.log, the latest attempt first.
import type { JobStory, LogLine } from "../lib/jobtypes";
import { useWho } from "../lib/session";
import { exactly } from "../lib/words";
import { Empty } from "../parts/shown";

export function Logs({ story }: { story: JobStory | undefined }) {
  const who = useWho();
  if (!who.may("payload")) return <Empty title="Not shown to you" text="Log lines need a token with the scope payload." />;
  if (!story?.logs.length) return <Empty title="Nothing is kept" text="What a handler says by ctx.log.info() and above is shown here: of failed attempts as long as the job is kept, of others the latest thousand of each worker, for a day." />;
  return (
    <div class="stack">
      {[...story.logs].reverse().map((attempt) => (
        <section key={attempt.attempt} class="stack tight" aria-label={`Log of attempt ${attempt.attempt}`}>
          <h2>Attempt {attempt.attempt}</h2>
          <ol class="json log">{attempt.lines.map((line, n) => <Line key={n} line={line} />)}</ol>
        </section>
      ))}
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  const bad = line.level === "error" || line.level === "critical" ? "bad" : line.level === "warning" ? "warn" : "";
  return (
    <li class={bad}>
      <time dateTime={line.at} title={exactly(line.at)}>{new Date(line.at).toLocaleTimeString(undefined, { hour12: false })}</time>
      <span class="level">{line.level}</span>
      <span class="words">{line.text}</span>
    </li>
  );
}
