// A state has one colour, one glyph and one word everywhere.
const GLYPHS: Record<string, string> = {
  waiting: "◦", delayed: "◷", blocked: "⊣", active: "▶", completed: "✓", failed: "✕", cancelled: "⊘",
  pending: "◦", processing: "▶",
};
const AS: Record<string, string> = { pending: "waiting", processing: "active" };

export function State({ of }: { of: string }) {
  return (
    <span class={`state ${AS[of] ?? of}`}>
      <span class="glyph" aria-hidden="true">{GLYPHS[of] ?? "·"}</span>
      {of}
    </span>
  );
}
