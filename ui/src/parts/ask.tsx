// Before something is changed: what will happen to what, why (for the audit), and the command that does the same.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, VNode } from "preact";
import { keepFocus } from "../lib/arrival";
import { Command } from "./copy";
import { inWords } from "./toast";

export interface Question {
  title: string;
  body?: ComponentChildren;
  action: string;
  danger?: boolean;
  command?: string | VNode; // one that changes as somebody types is an element
  reason?: boolean; // asked for, by default
  act: (reason: string) => Promise<void>;
}

/** It was not done, and the question itself says why. */
export class Told extends Error {}

let put: (question: Question | undefined) => void = () => undefined;
export const ask = (question: Question) => put(question);

export function Asker() {
  const [question, set] = useState<Question>();
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const dialog = useRef<HTMLDialogElement>(null);
  put = set;

  useEffect(() => {
    setWrong("");
    if (question) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;

  const close = () => dialog.current?.close(); // which gives the focus back to where it was
  const closed = () => {
    set(undefined);
    keepFocus();
  };

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const reason = new FormData(event.target as HTMLFormElement).get("reason");
    setBusy(true);
    setWrong("");
    try {
      await question.act(String(reason ?? ""));
      close();
    } catch (error) {
      if (!(error instanceof Told)) setWrong(inWords(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <dialog ref={dialog} onClose={closed} aria-labelledby="ask-title">
      <form onSubmit={submit}>
        <h2 id="ask-title">{question.title}</h2>
        {question.body}
        {question.reason !== false && (
          <label class="field">
            Why? (kept in the audit log)
            <input name="reason" maxLength={500} autoFocus />
          </label>
        )}
        {typeof question.command === "string" ? <Command text={question.command} /> : question.command}
        {wrong && <p class="banner bad words" role="alert">{wrong}</p>}
        <div class="foot">
          <button type="button" onClick={close}>Keep as it is</button>
          <button type="submit" class={`primary ${question.danger ? "danger" : ""}`} disabled={busy}>{question.action}</button>
        </div>
      </form>
    </dialog>
  );
}
