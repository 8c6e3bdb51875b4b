// What went wrong, the latest first: the message, and the stack folded.
import type { Attempt } from "../lib/jobtypes";
import { seconds, short } from "../lib/words";
import { Copy } from "../parts/copy";
import { Trace } from "../parts/data";
import { Empty } from "../parts/shown";
import { Ago } from "../parts/time";

export function Errors({ errors }: { errors: Attempt[] }) {
  if (!errors.length) return <Empty title="No errors" text="What an attempt raises is kept here, with its stack." />;
  return (
    <div class="stack">
      {[...errors].reverse().map((error, n) => <One key={errors.length - n} error={error} />)}
    </div>
  );
}

function One({ error }: { error: Attempt }) {
  return (
    <article class="card stack tight">
      <span class="line wrap"><strong class="grow words">{error.type}: {error.message}</strong><Ago at={error.at} /></span>
      <span class="line wrap muted">
        attempt {error.attempt ?? "?"}
        {error.ran_for !== undefined && <span>· after {seconds(error.ran_for)}</span>}
        {error.class && <span>· {error.class.replaceAll("_", " ")}</span>}
        {error.code && <span>· <code>{error.code}</code></span>}
        {error.worker && <span title={error.worker}>· worker {short(error.worker)}</span>}
      </span>
      {error.note && <span class="muted">{error.note}</span>}
      {error.traceback && <><Trace text={error.traceback} /><span><Copy text={`${error.traceback}\n${error.type}: ${error.message}`} label="Copy the stack" /></span></>}
      {error.causes?.map((cause, n) => (
        <div key={n} class="cause">
          <span class="muted">{cause.how === "cause" ? "caused by" : cause.how === "member" ? "in its group" : "while handling"}</span> <strong class="words">{cause.type}: {cause.message}</strong>
          {cause.traceback && <Trace text={cause.traceback} />}
        </div>
      ))}
    </article>
  );
}
