import { useState } from "preact/hooks";

const SHOWN = 2_000; // ms

/** Whether the text is in the clipboard; browsers have none for pages that came without TLS. */
async function copied(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByHand(text, near);
  }
}

function copiedByHand(text: string, near: HTMLElement): boolean {
  const field = document.createElement("textarea");
  field.className = "sr";
  field.value = text;
  near.after(field); // in the dialog, where there is one: all else is out of reach
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  near.focus();
  return done;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [said, say] = useState("");
  const copy = async (button: HTMLElement) => {
    say((await copied(text, button)) ? "Copied" : "Not copied: the browser refused");
    setTimeout(() => say(""), SHOWN);
  };
  return (
    <button type="button" class="small plain" onClick={(event) => void copy(event.currentTarget)} aria-label={said || `${label}: ${text}`}>
      {said || label}
    </button>
  );
}

/** A command that does in a terminal what the page does, or teaches what to do. */
export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <Copy text={text} />
    </span>
  );
}
