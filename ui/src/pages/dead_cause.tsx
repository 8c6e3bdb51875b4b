// One cause: recover one, watch it, then the rest; what they have in common; each of them.
import { useMemo, useRef, useState } from "preact/hooks";
import { get, post } from "../lib/api";
import { idsOf } from "../lib/causes";
import { forLetter, forLetters } from "../lib/commands";
import type { Cause } from "../lib/jobtypes";
import { useListKeys } from "../lib/keys";
import { useKeyset, type Keyset } from "../lib/keyset";
import { useLoad } from "../lib/load";
import { isRunning, useRecovery } from "../lib/recovery";
import { go, href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { DeadLetter, DeadPage } from "../lib/types";
import { count, seconds, short } from "../lib/words";
import { ask } from "../parts/ask";
import { Json, Trace } from "../parts/data";
import { FreshRows, Told } from "../parts/fresh";
import { Arguments } from "../parts/jobcells";
import { Shown } from "../parts/shown";
import { Ago } from "../parts/time";
import { complain, tell, tellOfJob } from "../parts/toast";
import { Windowed, type Col } from "../parts/windowed";
import { editAndRecover } from "./dead_edit";
import { Canary, LeftOver, Recovering, Rest } from "./dead_recover";
import { Notes } from "./notes";

const AT_ONCE = 200;
const SLOW = 10_000; // that many are worth a word

interface Given { id: string; cause: Cause | undefined; whole: boolean; done: () => void }

/** `cause` is undefined while it is not found; when it is gone, what was known of it stays in sight. */
export function OneCause({ id, cause: now, whole, done }: Given) {
  const known = useRef(now);
  known.current = now ?? known.current;
  const cause = now ?? (known.current && whole ? { ...known.current, count: 0 } : known.current);
  return (
    <section class="stack" aria-label={cause ? `${cause.task}: ${cause.error}` : "One cause"}>
      <div class="back"><button type="button" class="small" onClick={() => turn({ cause: undefined, canary: undefined, began: undefined, running: undefined })}>← All causes</button></div>
      {cause ? <Known cause={cause} done={done} /> : whole ? <Unknown id={id} /> : <p class="muted" role="status">Looking for this cause…</p>}
    </section>
  );
}

function Known({ cause, done }: { cause: Cause; done: () => void }) {
  const who = useWho();
  const { query } = useRoute();
  const [canary, began] = [query.get("canary") ?? undefined, query.get("began") ?? undefined];
  const [asked, askForRest] = useState(false);
  const recovery = useRecovery(cause.id);
  const rest = () => askForRest(true);
  const list = useKeyset<DeadLetter>("/dead-letters", "dead_letters", { cause: cause.id, task: cause.task });
  const again = () => (list.again(), done());
  return (
    <>
      <div class="card stack">
        <div class="line wrap titled">
          <h2 class="grow words">{cause.task}: {cause.error}</h2>
          {who.may("operate") && cause.count > 0 && <Actions cause={cause} began={canary && (began ?? canary)} rest={asked || recovery ? undefined : rest} busy={isRunning(recovery)} again={again} />}
        </div>
        {canary && <Canary key={canary} id={canary} others={recovery ? 0 : cause.count} rest={rest} />}
        {who.may("operate") && !asked && !recovery && <LeftOver left={cause.count} rest={rest} />}
        {recovery ? <Recovering cause={cause.id} recovery={recovery} again={again} /> : asked && <Rest cause={cause} close={() => askForRest(false)} />}
        {cause.count > 0 ? <Sample id={cause.latest} /> : <Gone id={cause.id} task={cause.task} />}
      </div>
      <NotesOn id={cause.id} />
      {cause.count > 0 && <Letters list={list} again={again} />}
    </>
  );
}

function NotesOn({ id }: { id: string }) {
  const who = useWho();
  return who.may("admin") || who.owner === "*" ? <Notes at={`/dead-letters/causes/${id}/notes`} about="this cause" /> : null;
}

/** A link to a cause of which nothing is left. */
function Unknown({ id }: { id: string }) {
  return (
    <>
      <div class="card stack"><h2>This cause is gone</h2><Gone id={id} /></div>
      <NotesOn id={id} />
    </>
  );
}

function Gone({ id, task }: { id: string; task?: string }) {
  const load = useLoad(() => get<DeadPage>("/dead-letters", { cause: id, task, recovered: true, limit: 200 }), [id, task]);
  return (
    <Shown of={load}>
      {({ dead_letters: found, next }) => {
        const back = found.filter((letter) => letter.recovered_as).length;
        const [one] = found;
        return (
          <div class="banner quiet" role="status">
            <span class="words">
              Nothing is left here{back ? `; ${next ? "at least " : ""}${count(back)} recovered` : ""}.
              {!back && !next && " What there was has been purged, or was recovered so long ago that its record is gone."}
              {one && !task && <> It was <strong>{one.task}</strong>: {one.error ?? one.reason}</>}
            </span>
          </div>
        );
      }}
    </Shown>
  );
}

/** `began`: the first canary of this run, where there was one. */
interface ActionsGiven { cause: Cause; began: string | undefined; rest: (() => void) | undefined; busy: boolean; again: () => void }

function Actions({ cause, began, rest, busy, again }: ActionsGiven) {
  const title = busy ? "All of this cause are being recovered: stop that first, or wait for its end" : undefined;
  return (
    <span class="line wrap">
      <button type="button" class={began ? "" : "primary"} disabled={busy} title={title} onClick={() => void recoverCanary(cause, began, again)}>{began ? "Recover another…" : "Recover one…"}</button>
      {cause.count > 1 && <button type="button" disabled={!rest} title={title} onClick={rest}>Recover all…</button>}
      <button type="button" class="danger" disabled={busy} title={title} onClick={() => void purgeAll(cause, again)}>Purge all…</button>
    </span>
  );
}

async function recoverCanary(cause: Cause, began: string | undefined, again: () => void): Promise<void> {
  try {
    const untried = await latestOf(cause, began);
    const id = untried ?? (began && (await latestOf(cause, undefined))) ?? cause.latest;
    ask({
      title: "Recover one of them?", action: "Recover it", command: forLetter("recover", id),
      body: (
        <>
          <p>{began && untried ? "The latest that has not been tried yet" : "The latest"}, <code title={id}>{short(id)}</code>, becomes a new job with its attempts reset, which is watched here before you recover the rest.</p>
          {began && !untried && <p class="muted">All that are left have come since the first one was tried.</p>}
        </>
      ),
      act: async (reason) => {
        const made = await post<{ job_id: string }>(`/dead-letters/${id}/recover`, { reason: reason || "a canary" });
        turn({ cause: cause.id, canary: made.job_id, began: began ?? made.job_id }, true);
        again();
      },
    });
  } catch (error) {
    complain(error);
  }
}

/** The latest dead letter of a cause; `before` a job: neither what it left when it failed, nor what came later. */
async function latestOf(cause: Cause, before: string | undefined): Promise<string | undefined> {
  let after: string | null | undefined = before;
  do {
    const page: DeadPage = await get<DeadPage>("/dead-letters", { cause: cause.id, task: cause.task, limit: 1, after });
    if (page.dead_letters[0]) return page.dead_letters[0].job_id;
    after = page.next;
  } while (after);
  return undefined;
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
    { name: "Failed", kind: "num", width: 124, show: (l) => <Ago at={l.failed_at} /> },
    { name: "Attempts", kind: "num", rare: true, width: 90, show: (l) => l.attempts },
    ...(payload ? [{ name: "Arguments", kind: "args", show: (l: DeadLetter) => <Arguments of={l.payload} /> }] : []),
    { name: "Error", kind: "what", rare: true, show: (l) => <span class="muted" title={l.error ?? undefined}>{l.error}</span> },
    ...(mayAct ? [acts] : []),
  ];
}

function recoverOne(letter: DeadLetter, again: () => void): void {
  ask({
    title: "Recover this job?", action: "Recover", command: forLetter("recover", letter.job_id),
    body: <p>It becomes a new job with its attempts reset.</p>,
    act: async (reason) => {
      const made = await post<{ job_id: string; already: boolean }>(`/dead-letters/${letter.job_id}/recover`, { reason: reason || null });
      tellOfJob(made.already ? "It had been recovered already, as" : "Recovered as", made.job_id);
      again();
    },
  });
}

function purge(letter: DeadLetter, again: () => void): void {
  ask({
    title: "Remove this dead letter for good?", action: "Purge", danger: true, command: forLetter("purge", letter.job_id),
    body: <p>It cannot be recovered any more.</p>,
    act: async (reason) => {
      await post(`/dead-letters/${letter.job_id}/purge`, { reason: reason || null });
      tell("Removed");
      again();
    },
  });
}

/** Just those that are dead as the question is asked, by their ids. */
async function purgeAll(cause: Cause, again: () => void): Promise<void> {
  try {
    const ids = await idsOf(cause, (n) => n > SLOW && tell(`Counting… ${count(n)} so far`), { current: false });
    ask({
      title: `Remove ${count(ids.length)} dead letters for good?`, action: `Purge ${count(ids.length)}`, danger: true, command: forLetters("purge", ids),
      body: <><p class="words">{cause.task}: {cause.error}</p><p>They cannot be recovered any more. Only those that are dead now: one that comes meanwhile stays.</p></>,
      act: async (reason) => {
        let purged = 0;
        for (let at = 0; at < ids.length; at += AT_ONCE) {
          const done = await post<{ purged: number }>("/dead-letters/purge", { job_ids: ids.slice(at, at + AT_ONCE), reason: reason || null });
          purged += done.purged;
        }
        tell(`${count(purged)} of ${count(ids.length)} removed${purged < ids.length ? "; the others were gone already" : ""}`);
        again();
      },
    });
  } catch (error) {
    complain(error);
  }
}
