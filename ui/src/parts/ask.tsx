// Before something is changed: what will happen to what, why (for the audit), and the command that does the same.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Command } from "./copy";
import { complain } from "./toast";

export interface Question {
  title: string;
  body?: ComponentChildren;
  action: string;
  danger?: boolean;
  command?: string;
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
  const dialog = useRef<HTMLDialogElement>(null);
  put = set;

  useEffect(() => {
    if (question) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const reason = new FormData(event.target as HTMLFormElement).get("reason");
    setBusy(true);
    try {
      await question.act(String(reason ?? ""));
      set(undefined);
    } catch (error) {
      if (!(error instanceof Told)) complain(error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <dialog ref={dialog} onClose={() => set(undefined)} aria-labelledby="ask-title">
      <form onSubmit={submit}>
        <h2 id="ask-title">{question.title}</h2>
        {question.body}
        {question.reason !== false && (
          <label class="field">
            Why? (kept in the audit log)
            <input name="reason" maxLength={500} autoFocus />
          </label>
        )}
        {question.command && <Command text={question.command} />}
        <div class="foot">
          <button type="button" onClick={() => set(undefined)}>Keep as it is</button>
          <button type="submit" class={`primary ${question.danger ? "danger" : ""}`} disabled={busy}>{question.action}</button>
        </div>
      </form>
    </dialog>
  );
}
