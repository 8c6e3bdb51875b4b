import { useState } from "preact/hooks";

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, set] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text);
    set(true);
    setTimeout(() => set(false), 1_500);
  };
  return (
    <button type="button" class="small plain" onClick={copy} aria-label={`${label}: ${text}`}>
      {done ? "Copied" : label}
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
