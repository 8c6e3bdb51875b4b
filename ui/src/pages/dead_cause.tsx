// One cause: recover one, watch it, then the rest; what they have in common; each of them.
import { useMemo, useRef, useState } from "preact/hooks";
import { get, post } from "../lib/api";
import type { Cause } from "../lib/jobtypes";
import { useListKeys } from "../lib/keys";
import { useKeyset, type Keyset } from "../lib/keyset";
import { useLoad } from "../lib/load";
import { go, href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { DeadLetter } from "../lib/types";
import { count, quoted, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Json, Trace } from "../parts/data";
import { FreshRows, Told } from "../parts/fresh";
import { Arguments } from "../parts/jobcells";
import { Shown } from "../parts/shown";
import { Ago } from "../parts/time";
import { complain, tell } from "../parts/toast";
import { Windowed, type Col } from "../parts/windowed";
import { editAndRecover } from "./dead_edit";
import { Canary, Rest } from "./dead_recover";
import { Notes } from "./notes";

export function OneCause({ cause, done }: { cause: Cause; done: () => void }) {
  const who = useWho();
  const all = who.may("admin") || who.owner === "*";
  const canary = useRoute().query.get("canary") ?? undefined;
  const [rest, setRest] = useState(false);
  const list = useKeyset<DeadLetter>("/dead-letters", "dead_letters", { cause: cause.id, task: cause.task });
  const again = () => (list.again(), done());
  return (
    <section class="stack" aria-label={`${cause.task}: ${cause.error}`}>
      <div class="card stack">
        <div class="line wrap">
          <h2 class="grow words">{cause.task}: {cause.error}</h2>
          {who.may("operate") && cause.count > 0 && <Actions cause={cause} canary={canary} first={list.rows[0]} rest={() => setRest(true)} again={again} />}
        </div>
        {canary && <Canary id={canary} others={cause.count} rest={() => setRest(true)} />}
        {rest && <Rest cause={cause} again={again} close={() => setRest(false)} />}
        {cause.count > 0 && <Sample id={cause.latest} />}
      </div>
      {all && <Notes at={`/dead-letters/causes/${cause.id}/notes`} about="this cause" />}
      {cause.count > 0 && <Letters list={list} again={again} />}
    </section>
  );
}

interface ActionsGiven { cause: Cause; canary: string | undefined; first: DeadLetter | undefined; rest: () => void; again: () => void }

function Actions({ cause, canary, first, rest, again }: ActionsGiven) {
  const one = async () => {
    try {
      const made = await post<{ job_id: string }>(`/dead-letters/${first?.job_id ?? cause.latest}/recover`, { reason: "a canary" });
      turn({ cause: cause.id, canary: made.job_id }, true);
      again();
    } catch (error) {
      complain(error);
    }
  };
  return (
    <span class="line wrap">
      <button type="button" class={canary ? "" : "primary"} onClick={() => void one()}>{canary ? "Recover another" : "Recover one"}</button>
      {cause.count > 1 && <button type="button" onClick={rest}>Recover all…</button>}
      <button type="button" class="danger" onClick={() => void purgeAll(cause, again)}>Purge all…</button>
    </span>
  );
}

function Sample({ id }: { id: string }) {
  const sample = useLoad(() => get<DeadLetter>(`/dead-letters/${id}`), [id]);
  return (
    <Shown of={sample}>
      {(letter) => (
        <>
          <dl class="facts wide">
            <dt>Latest</dt><dd><a href={href(`/jobs/${letter.job_id}`)}><code title={letter.job_id}>{short(letter.job_id)}</code></a></dd>
            <dt>Reason</dt><dd>{letter.reason}{letter.code ? ` · ${letter.code}` : ""}</dd>
            <dt>Attempts</dt><dd>{letter.attempts} of {letter.max_attempts}, {seconds(letter.ran_for)} in all</dd>
            <dt>Queue</dt><dd>{letter.queue}</dd>
            <dt>Failed</dt><dd><Ago at={letter.failed_at} /></dd>
            <dt>Error</dt><dd>{letter.error ?? "none was recorded"}</dd>
          </dl>
          {letter.payload !== undefined && <><h2>Arguments of the latest</h2><Json of={letter.payload} /></>}
          {letter.traceback && <Trace text={letter.traceback} />}
        </>
      )}
    </Shown>
  );
}

function Letters({ list, again }: { list: Keyset<DeadLetter>; again: () => void }) {
  const who = useWho();
  const [cursor, setCursor] = useState<string>();
  useListKeys((key) => {
    const at = list.rows.findIndex((letter) => letter.job_id === cursor);
    if (key === "j") setCursor(list.rows[Math.min(at + 1, list.rows.length - 1)]?.job_id);
    if (key === "k") setCursor(list.rows[Math.max(at - 1, 0)]?.job_id);
    if (key === "o" && cursor) go(href(`/jobs/${cursor}`));
  });
  const [mayAct, payload] = [who.may("operate"), who.may("payload")];
  const latest = useRef(again);
  latest.current = again;
  const shown = useMemo(() => columns(mayAct, payload, () => latest.current()), [mayAct, payload]);
  const foot = <div class="pager"><Told of={list} one="dead letter" many="dead letters" /></div>;
  return (
    <>
      <FreshRows of={list} />
      <Windowed label="Dead letters of this cause" rows={list.rows} keyOf={(l) => l.job_id} cursor={cursor} looking={list.looking} hold={list.hold} foot={foot} columns={shown} />
    </>
  );
}

function columns(mayAct: boolean, payload: boolean, again: () => void): Col<DeadLetter>[] {
  const acts: Col<DeadLetter> = {
    name: "acts", hidden: "Actions", kind: "actions", width: 220,
    show: (l) => (
      <>
        <button type="button" class="small" onClick={() => recoverOne(l, again)}>Recover</button>
        {payload && <button type="button" class="small" onClick={() => void editAndRecover(l.job_id, l.task, again)}>Edit…</button>}
        <button type="button" class="small danger" onClick={() => purge(l, again)}>Purge</button>
      </>
    ),
  };
  return [
    { name: "Job", width: 150, show: (l) => <a href={href(`/jobs/${l.job_id}`)}><code title={l.job_id}>{short(l.job_id)}</code></a> },
    { name: "Failed", kind: "num", width: 100, show: (l) => <Ago at={l.failed_at} /> },
    { name: "Attempts", kind: "num", rare: true, width: 90, show: (l) => l.attempts },
    ...(payload ? [{ name: "Arguments", kind: "args", show: (l: DeadLetter) => <Arguments of={l.payload} /> }] : []),
    { name: "Error", kind: "what", rare: true, show: (l) => <span class="muted" title={l.error ?? undefined}>{l.error}</span> },
    ...(mayAct ? [acts] : []),
  ];
}

function recoverOne(letter: DeadLetter, again: () => void): void {
  ask({
    title: "Recover this job?", action: "Recover", command: `penstock dlq recover ${letter.job_id}`,
    body: <p>It becomes a new job with its attempts reset.</p>,
    act: async (reason) => {
      const made = await post<{ job_id: string; already: boolean }>(`/dead-letters/${letter.job_id}/recover`, { reason: reason || null });
      tell(made.already ? `It had been recovered already, as ${made.job_id}` : `Recovered as ${made.job_id}`);
      again();
    },
  });
}

function purge(letter: DeadLetter, again: () => void): void {
  ask({
    title: "Remove this dead letter for good?", action: "Purge", danger: true, command: `penstock dlq purge ${letter.job_id}`,
    body: <p>It cannot be recovered any more.</p>,
    act: async (reason) => {
      await post(`/dead-letters/${letter.job_id}/purge`, { reason: reason || null });
      tell("Removed");
      again();
    },
  });
}

async function purgeAll(cause: Cause, again: () => void): Promise<void> {
  const which = { task: cause.task, cause: cause.id };
  try {
    const seen = await get<{ count: number; confirm: string }>("/dead-letters/count", { ...which, action: "purge" });
    ask({
      title: `Remove ${count(seen.count)} dead letters for good?`, action: `Purge ${count(seen.count)}`, danger: true,
      command: `penstock dlq --task ${quoted(cause.task)}`,
      body: <><p class="words">{cause.task}: {cause.error}</p><p>They cannot be recovered any more. Where one more has come meanwhile, nothing is done.</p></>,
      act: async (reason) => {
        const done = await post<{ purged: number }>("/dead-letters/bulk/purge", { ...which, ...seen, reason: reason || null });
        tell(`${count(done.purged)} removed`);
        again();
      },
    });
  } catch (error) {
    complain(error);
  }
}
