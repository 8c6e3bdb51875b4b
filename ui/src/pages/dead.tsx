// Dead letters, by cause: what fails alike is mended alike.
import { useRef } from "preact/hooks";
import "../jobs.css";
import { get } from "../lib/api";
import type { Cause } from "../lib/jobtypes";
import { useLoad } from "../lib/load";
import { turn, useRoute } from "../lib/route";
import { count } from "../lib/words";
import { Spark } from "../parts/chart";
import { Empty, Shown } from "../parts/shown";
import { Ago } from "../parts/time";
import { OneCause } from "./dead_cause";

const SOONEST = 3_000; // ms: it is a look through many

export function DeadLetters() {
  const { query } = useRoute();
  const known = useRef(new Map<string, Cause>()); // also of causes that are mended by now, while they are looked at
  const load = useLoad(() => get<{ causes: Cause[]; more: boolean }>("/dead-letters/causes"), [], 15_000, SOONEST);
  return (
    <>
      <div class="head"><h1>Dead letters</h1></div>
      <Shown of={load}>
        {(data) => {
          data.causes.forEach((cause) => known.current.set(cause.id, cause));
          const asked = query.get("cause") ?? "";
          const gone = query.get("canary") ? known.current.get(asked) : undefined;
          const chosen = data.causes.find((cause) => cause.id === asked) ?? (gone && { ...gone, count: 0 }) ?? data.causes[0];
          if (!chosen) return <Nothing />;
          return (
            <div class="split dead">
              <div class="stack tight">
                <div class="causes" role="group" aria-label="Causes">
                  {data.causes.map((cause) => <CauseButton key={cause.id} cause={cause} chosen={cause.id === chosen.id} />)}
                  {!data.causes.length && <p class="muted pad">Nothing else is dead.</p>}
                </div>
                {data.more && <p class="muted">Only the newest 2,000 dead letters are told apart here.</p>}
              </div>
              <OneCause key={chosen.id} cause={chosen} done={load.again} />
            </div>
          );
        }}
      </Shown>
    </>
  );
}

function Nothing() {
  return <Empty title="No dead letters" text="A job that fails for good, after its last attempt or at once where it raises Unrecoverable, is kept here for thirty days. It can be recovered as it was, or with other arguments." command="penstock dlq" />;
}

function CauseButton({ cause, chosen }: { cause: Cause; chosen: boolean }) {
  return (
    <button type="button" aria-current={chosen} onClick={() => turn({ cause: cause.id, canary: undefined })}>
      <span class="line"><strong class="grow clip">{cause.task}</strong><strong class="n">{count(cause.count)}</strong></span>
      <span class="error">{cause.error}</span>
      <span class="line"><span class="grow muted">first <Ago at={cause.first_at} /> · last <Ago at={cause.last_at} /></span><Spark values={cause.by_hour} label="Of the last day, by hour" /></span>
    </button>
  );
}
