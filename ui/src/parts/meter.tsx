// How much of something that is bounded is used.
import { count } from "../lib/words";

export function Meter({ used, of, label }: { used: number; of: number; label: string }) {
  const share = of > 0 ? Math.min(1, used / of) : 0;
  return (
    <span class="meter" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={Math.min(used, of)} aria-valuetext={`${count(used)} of ${count(of)}`}>
      <span class="track"><i class={share >= 1 ? "full" : ""} style={{ width: `${share * 100}%` }} /></span>
      <span>{count(used)} of {count(of)}</span>
    </span>
  );
}
