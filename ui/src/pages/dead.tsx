// Dead letters, by cause: what fails alike is mended alike.
import { useEffect } from "preact/hooks";
import "../jobs.css";
import { useCauses, type Causes } from "../lib/causes";
import type { Cause } from "../lib/jobtypes";
import { turn, useRoute } from "../lib/route";
import { count } from "../lib/words";
import { Spark } from "../parts/chart";
import { Empty, Shown } from "../parts/shown";
import { Ago } from "../parts/time";
import { OneCause } from "./dead_cause";

const NARROW = matchMedia("(max-width: 860px)"); // as the stylesheet: a list, or one of it

export function DeadLetters() {
  const load = useCauses();
  return (
    <>
      <div class="head"><h1>Dead letters</h1></div>
      <Shown of={load}>{(data) => <Both data={data} again={load.again} />}</Shown>
    </>
  );
}

/** The cause that is looked at is in the address, and stays there when it is gone: another one is never put in its place. */
function Both({ data, again }: { data: Causes; again: () => void }) {
  const asked = useRoute().query.get("cause");
  const first = data.causes[0]?.id;
  useEffect(() => {
    if (!asked && first && !NARROW.matches) turn({ cause: first }, true);
  }, [asked, first]);
  if (!asked && !first) return data.whole ? <Nothing /> : <Looking data={data} />;
  return (
    <div class={`split dead ${asked ? "one" : ""}`}>
      <div class="stack tight">
        <div class="causes" role="group" aria-label="Causes">
          {data.causes.map((cause) => <CauseButton key={cause.id} cause={cause} chosen={cause.id === asked} />)}
          {!data.causes.length && <p class="muted pad">Nothing else is dead.</p>}
        </div>
        {!data.whole && <Looking data={data} />}
      </div>
      {asked && <OneCause key={asked} id={asked} cause={data.causes.find((cause) => cause.id === asked)} whole={data.whole} done={again} />}
    </div>
  );
}

function Looking({ data }: { data: Causes }) {
  return <p class="muted" role="status">Looking at all of them: {count(data.looked)} so far. There may be more of each cause, and others.</p>;
}

function Nothing() {
  return <Empty title="No dead letters" text="A job that fails for good, after its last attempt or at once where it raises Unrecoverable, is kept here for thirty days. It can be recovered as it was, or with other arguments." command="penstock dlq" />;
}

function CauseButton({ cause, chosen }: { cause: Cause; chosen: boolean }) {
  const open = () => {
    if (!chosen) turn({ cause: cause.id, canary: undefined, began: undefined, running: undefined });
    if (NARROW.matches) scrollTo(0, 0);
  };
  return (
    <button type="button" aria-current={chosen} onClick={open}>
      <span class="line"><strong class="grow clip">{cause.task}</strong><strong class="n">{count(cause.count)}</strong></span>
      <span class="error">{cause.error}</span>
      <span class="line"><span class="grow muted">first <Ago at={cause.first_at} /> · last <Ago at={cause.last_at} /></span><Spark values={cause.by_hour} label="Of the last day, by hour" /></span>
    </button>
  );
}
