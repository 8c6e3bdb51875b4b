// Values and stacks, always as text.
import { write } from "../lib/json";

export function Json({ of }: { of: unknown }) {
  return <pre class="json">{write(of, 2)}</pre>;
}

/** A stack, folded; lines of libraries are pale, one's own stand out. */
export function Trace({ text }: { text: string }) {
  const lines = text.split("\n");
  return (
    <details>
      <summary>Stack ({lines.length} lines)</summary>
      <pre class="json trace">
        {lines.map((line, n) => <span key={n} class={/site-packages|lib\/python|^\s{4}/.test(line) ? undefined : "own"}>{line}{"\n"}</span>)}
      </pre>
    </details>
  );
}
