// What a page shows of what it has loaded: nothing yet, an error with what to do, or the thing itself.
import type { ComponentChildren } from "preact";
import type { Loaded } from "../lib/load";
import { Command } from "./copy";
import { visible } from "./told";

interface Given<T> {
  of: Loaded<T>;
  missing?: () => ComponentChildren; // where there is no such thing
  children: (data: T) => ComponentChildren;
}

export function Shown<T>({ of, missing, children }: Given<T>) {
  if (missing && of.error?.status === 404) return <>{missing()}</>;
  return (
    <>
      {of.error && (
        <div class="banner bad" role="alert">
          <span class="grow">{visible(of.error.message)}</span>
          <button type="button" class="small" onClick={of.again}>Try again</button>
        </div>
      )}
      {of.data === undefined ? !of.error && <p class="muted" role="status">Loading…</p> : children(of.data)}
    </>
  );
}

export function Empty({ title, text, command }: { title: string; text?: string; command?: string }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {text && <span>{text}</span>}
      {command && <Command text={command} />}
    </div>
  );
}
