// What people have written down, with who and when.
import { useState } from "preact/hooks";
import { get, post } from "../lib/api";
import type { Remark } from "../lib/jobtypes";
import { useLoad } from "../lib/load";
import { useWho } from "../lib/session";
import { named } from "../lib/who";
import { Shown } from "../parts/shown";
import { Ago } from "../parts/time";
import { complain } from "../parts/toast";

export function Notes({ at, about }: { at: string; about: string }) {
  const who = useWho();
  const notes = useLoad(() => get<{ notes: Remark[] }>(at), [at]);
  const [text, write] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      await post(at, { text });
      write("");
      notes.again();
    } catch (error) {
      complain(error);
    }
  };
  return (
    <section class="card stack tight" aria-label={`Notes on ${about}`}>
      <h2>Notes</h2>
      <Shown of={notes}>
        {(data) => data.notes.length
          ? <ul class="notes">{data.notes.map((note) => <li key={note.id}><span class="muted"><strong title={note.who}>{named(note.who)}</strong> <Ago at={note.at} /></span><p class="words">{note.text}</p></li>)}</ul>
          : <p class="muted">Nobody has written anything about {about} yet.{who.may("operate") ? " What you know helps whoever looks next." : ""}</p>}
      </Shown>
      {who.may("operate") && (
        <form class="line" onSubmit={submit}>
          <label class="sr" for={`note-${at}`}>A note on {about}</label>
          <input id={`note-${at}`} class="grow" maxLength={2000} value={text} placeholder={`A note on ${about}`} onInput={(event) => write(event.currentTarget.value)} />
          <button type="submit" disabled={!text.trim()}>Add</button>
        </form>
      )}
    </section>
  );
}
